import type { ReloadView } from '../../now/view.ts';
import { escaped, since, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';

/** The last reload with its outcome and, if it was refused, the place. */
export const LastReload = ({ view }: { readonly view: ReloadView }) =>
  html`<section class="card" aria-labelledby="last-reload">
    <h2 id="last-reload">Last reload</h2>
    ${textOf(view)}
  </section>`;

function textOf(view: ReloadView) {
  switch (view.kind) {
    case 'unknown':
      return html`<p class="dim">Not known: the control socket does not answer.</p>`;
    case 'none':
      return html`<p>None since the start.</p>`;
    case 'unchanged':
      return html`<p>✓ The files had not changed, ${when(view.at)}.</p>`;
    case 'applied':
      return html`<p>✓ Applied, ${when(view.at)}.</p>
        <p class="dim">${escaped(view.text)}</p>`;
    case 'failed':
      return html`<p class="error">✕ Refused, ${when(view.at)}.</p>
        ${view.place !== null && html`<p><code>${escaped(view.place)}</code></p>`}
        <p class="reload-text">${view.text.split('\n').map(escaped).join('\n')}</p>
        <p><a href=${linkTo('config')}>See the report</a></p>`;
    default:
      return view satisfies never;
  }
}

const when = (at: number): string => `${since(at)} ago, at ${timeOfDay(at)}`;
