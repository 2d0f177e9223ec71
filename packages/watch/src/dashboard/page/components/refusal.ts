import type { PlaceView, RefusalView, LineView } from '../../config/view.ts';
import { escaped } from '../format.ts';
import { html } from '../html.ts';

/** A place as text: `weir.toml:12:5`. */
export const placeText = ({ file, line, column }: PlaceView): string =>
  `${file === null ? 'line ' : `${escaped(file)}:`}${line}:${column}`;

/** Numbered lines of a file; the line of a place is marked, with its column below. */
export const Lines = ({
  lines,
  place,
  label,
}: {
  readonly lines: readonly LineView[];
  readonly place?: PlaceView | null;
  readonly label: string;
}) => {
  const width = String(lines.at(-1)?.line ?? 0).length;
  return html`<pre class="lines" tabindex="0" aria-label=${label}><code>${lines.map(
    ({ line, text }) => {
      const here = line === place?.line;
      const number = `${here ? '▶' : ' '} ${String(line).padStart(width)} │ `;
      const mark = here ? `${' '.repeat(width + 2)} │ ${under(text, place.column)}^\n` : '';
      return html`<span class=${here ? 'here' : undefined}
        >${number}${escapedLine(text)}${'\n'}${mark}</span
      >`;
    },
  )}</code></pre>`;
};

/** White space as wide as the text before a column. */
const under = (text: string, column: number): string =>
  Array.from(text)
    .slice(0, column - 1)
    .map((char) => (char === '\t' ? '\t' : ' '))
    .join('');

/** A line with its text escaped, except tabs, which keep their width. */
const escapedLine = (text: string): string => text.split('\t').map(escaped).join('\t');

/** A refused configuration: the message, its place, the lines around it, and hints. */
export const Refusal = ({ refusal }: { readonly refusal: RefusalView }) => {
  const { message, place, lines, hints } = refusal;
  return html`<div class="refusal">
    <pre class="message">${message.split('\n').map(escapedLine).join('\n')}</pre>
    ${place && html`<p>At <code>${placeText(place)}</code>${lines.length > 0 ? '; values that may be secret are starred:' : ''}</p>`}
    ${lines.length > 0 && html`<${Lines} lines=${lines} place=${place} label="Lines around the place" />`}
    ${hints.map((hint) => html`<p class="hint">Hint: ${escaped(hint)}</p>`)}
  </div>`;
};
