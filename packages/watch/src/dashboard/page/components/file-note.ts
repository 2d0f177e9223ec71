import type { FileState } from '../../rules/view.ts';
import { escaped } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';

/** A note on how the configuration file of a page relates to what runs; nothing where they are equal. */
export function FileNote({ file }: { readonly file: FileState }) {
  switch (file.kind) {
    case 'reading':
      return html`<p class="dim">Reading the configuration …</p>`;
    case 'unknown':
      return note(
        'Which file Weir has loaded is not known',
        'Open the dashboard with --config FILE, or as the user that runs Weir, for its control socket.',
      );
    case 'invalid':
      return note(
        'The configuration is invalid',
        `${file.message}. Weir goes on with what it loaded before.`,
        file.hints,
      );
    case 'read':
      if (file.freshness === 'loaded') return null;
      return note(TITLES[file.freshness], TEXTS[file.freshness]);
    default:
      return file satisfies never;
  }
}

const TITLES = {
  changed: 'The files have changed since Weir loaded them',
  refused: 'The last reload was refused',
  unknown: 'Whether Weir has loaded this file is not known',
} as const;

const TEXTS = {
  changed: 'This page shows the files. Reload to put them in force.',
  refused: 'This page shows the files, which Weir did not take: it goes on with what it had.',
  unknown: 'The control socket would say so.',
} as const;

const note = (title: string, text: string, hints: readonly string[] = []) =>
  html`<section class="state warning" aria-label=${title}>
    <p class="state-title"><span aria-hidden="true">▲</span> ${title}</p>
    <p>${escaped(text)} <a href=${linkTo('config')}>Config</a></p>
    ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}
  </section>`;
