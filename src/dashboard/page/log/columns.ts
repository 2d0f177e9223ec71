import type { LogRow } from '../../log/view.ts';
import type { Column } from '../components/grid.ts';
import { counted, escaped, Name, timeOfDay } from '../format.ts';
import { html } from '../html.ts';

type Line = Extract<LogRow, { readonly kind: 'line' }>;

const ofLine =
  (cell: (line: Line) => unknown) =>
  (row: LogRow): never =>
    (row.kind === 'line' ? cell(row) : '') as never;

/** The first line of a record; its details have all lines. */
function firstLine({ message }: Line) {
  const [first = '', ...others] = message.split('\n');
  return html`<${Name} text=${first} />${
      others.length > 0 && html` <span class="badge">+ ${counted(others.length, 'line')}</span>`
    }`;
}

export const COLUMNS: readonly Column<LogRow>[] = [
  {
    key: 'at',
    title: 'Time',
    width: '5rem',
    card: 'line',
    cell: ({ at }) => timeOfDay(at),
  },
  {
    key: 'level',
    title: 'Level',
    width: '4rem',
    card: 'aside',
    cell: ofLine(({ level }) => html`<span class=${`level ${level}`}>${level}</span>`),
  },
  {
    key: 'target',
    title: 'Target',
    width: 'minmax(5rem, 10rem)',
    card: 'line-end',
    cell: ofLine(({ target }) => html`<${Name} text=${target} />`),
  },
  {
    key: 'message',
    title: 'Message',
    width: 'minmax(16rem, 1fr)',
    card: 'title',
    cell: ofLine(firstLine),
  },
];

/** The heading in place of missing lines. */
export const lostHeading = (row: LogRow) =>
  row.kind === 'lost'
    ? html`▲ ${timeOfDay(row.at)}${' '}
      ${
        row.lost === null
          ? 'The log was not followed for a time: lines may be missing here'
          : `${counted(row.lost, 'line')} ${row.lost === 1 ? 'was' : 'were'} lost here, because this dashboard was too slow`
      }`
    : undefined;

/** The text of a line, with control characters and direction marks escaped. */
export const messageText = ({ message }: Line): string =>
  message.split('\n').map(escaped).join('\n');
