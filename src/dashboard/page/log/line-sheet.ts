import type { LogRow } from '../../log/view.ts';
import { Dialog } from '../components/dialog.ts';
import { connectionsLink } from '../connections-link.ts';
import { Name, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';
import { messageText } from './columns.ts';

type Line = Extract<LogRow, { readonly kind: 'line' }>;

/** Facets of Connections by the fields of lines. */
const FACETS: Readonly<Record<string, string>> = {
  inbound: 'in',
  outbound: 'out',
  host: 'host',
  user: 'user',
  source: 'src',
};

/** A line of the log in a sheet at the side. */
export const LineSheet = ({
  line,
  onClose,
}: {
  readonly line: Line;
  readonly onClose: () => void;
}) =>
  html`<${Dialog} sheet title=${`${line.level} at ${timeOfDay(line.at)}`} onClose=${onClose}>
    <pre
      class="log-message"
      tabindex="0"
      aria-label="Message"
    ><code>${messageText(line)}</code></pre>
    <dl class="facts">
      <dt>Target</dt>
      <dd><${Name} text=${line.target} /></dd>
      ${line.fields.map(
        ([name, value]) =>
          html`<dt><${Name} text=${name} /></dt>
            <dd>${valueOf(name, value)}</dd>`,
      )}
    </dl>
  <//>`;

function valueOf(name: string, value: string) {
  const facet = Object.hasOwn(FACETS, name) ? FACETS[name] : undefined;
  const text = html`<${Name} text=${value} />`;
  if (facet !== undefined) return html`<a href=${connectionsLink({ [facet]: value })}>${text}</a>`;
  return name === 'rule' ? html`<a href=${linkTo('rules', { rule: value })}>${text}</a>` : text;
}
