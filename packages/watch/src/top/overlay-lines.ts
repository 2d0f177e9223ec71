import { age, bytes } from '@weir/base/text/amounts';
import { flowTarget } from './flow-columns.ts';
import { fitted, foreign, span, wrapped, type Line, type Style } from './line.ts';
import type { Snapshot, ChangePrompt, TextOverlay } from './top-state.ts';

const HELP: readonly (readonly [keys: string, text: string])[] = [
  ['j k, arrows', 'move; PageUp, PageDown, Home and End too'],
  ['Enter', 'details of a flow; targets of a route'],
  ['/', 'filter: user:ann out:tokyo host:*.video rule:4 age>1h up>1M; in targets a search'],
  ['s S', 'sort by the next column; reverse'],
  ['Space', 'freeze the list'],
  ['x', 'close the flow'],
  ['p Tab', 'routes; Tab goes back and forth'],
  ['r', 'reload'],
  ['Esc', 'back; without anything open: no filter'],
  ['^L ^Z q', 'draw again; suspend; quit'],
];

/** Width of the names of keys and values, with a space on both sides. */
const NAME_COLUMNS = 15;

interface Indent {
  /** Columns of indentation. */
  readonly by: number;
  readonly style?: Style;
}

/** All lines of an overlay; terminals with fewer rows show a window of them. */
export function overlayLines(
  overlay: TextOverlay,
  snapshot: Snapshot,
  columns: number,
): readonly Line[] {
  switch (overlay.kind) {
    case 'help':
      return [
        [span(' Keys', 'bold')],
        ...HELP.flatMap(([keys, text]) =>
          named(keys, text, columns, { by: NAME_COLUMNS, style: 'bold' }),
        ),
      ];
    case 'busy':
      return [[], ...indented(overlay.text, columns, { by: 1, style: 'dim' })];
    case 'message':
      return [
        ...indented(overlay.title, columns, { by: 1, style: 'bold' }),
        ...overlay.lines.flatMap((line) => indented(line, columns, { by: 1 })),
        [],
        [span(' Enter or Esc goes back.', 'dim')],
      ];
    case 'question':
      return questionLines(overlay.question, columns);
    case 'details':
      return detailLines(overlay.flow, snapshot, columns);
    default:
      return overlay satisfies never;
  }
}

/** The maximum scroll position: an overlay that is too long for its terminal has all rows but the last. */
export const scrollEnd = (overlay: TextOverlay, snapshot: Snapshot): number =>
  Math.max(
    0,
    overlayLines(overlay, snapshot, snapshot.size.columns).length - overlayRows(snapshot.size),
  );

/** Rows of an overlay that is too long for the head to be shown. */
export const overlayRows = ({ rows }: Snapshot['size']): number => Math.max(1, rows - 1);

function questionLines(
  { title, effects, answers }: ChangePrompt,
  columns: number,
): readonly Line[] {
  return [
    ...indented(title, columns, { by: 1, style: 'bold' }),
    ...effects.flatMap((effect) => indented(effect, columns, { by: 1 })),
    [],
    ...answers.flatMap(({ key, text, command }) => [
      ...named(key, text, columns, { by: 4, style: 'bold' }),
      ...indented(command, columns, { by: 4, style: 'dim' }),
    ]),
    [span(' Esc  ', 'bold'), span('change nothing')],
  ];
}

function detailLines(id: number, { monitor, now }: Snapshot, columns: number): readonly Line[] {
  const flow = monitor.flows.get(id);
  if (!flow) return [[span(` Flow ${id} closed some time ago.`, 'dim')]];
  const { view, closedAt, upRate, downRate } = flow;
  const rows: readonly (readonly [string, string])[] = [
    ['client', `${view.source ?? 'unknown'}${view.user === null ? '' : `, user ${view.user}`}`],
    ['inbound', view.inbound],
    ['rule', view.rule === null ? 'default route' : String(view.rule)],
    ['outbound', view.outbound === '' ? 'dns' : view.outbound],
    ['destination', `${view.network} ${flowTarget(view)}`],
    ['session', view.session === null ? 'none' : String(view.session)],
    [
      'age',
      closedAt === undefined
        ? age(now - view.started_at)
        : `closed ${age(now - closedAt)} ago after ${age(closedAt - view.started_at)}`,
    ],
    ['up', `${bytes(view.up)}, ${bytes(upRate)}/s`],
    ['down', `${bytes(view.down)}, ${bytes(downRate)}/s`],
  ];
  return [
    [span(` Flow ${id}`, 'bold')],
    ...rows.flatMap(([name, value]) =>
      named(name, value, columns, { by: NAME_COLUMNS, style: 'dim' }),
    ),
  ];
}

/** A name, and beside it a wrapped text. */
function named(
  name: string,
  text: string,
  columns: number,
  { by, style }: Indent,
): readonly Line[] {
  return indented(text, columns, { by }).map((line, index) =>
    index === 0 ? [span(` ${fitted(name, by - 2)} `, style), ...line.slice(1)] : line,
  );
}

/** An untrusted text, escaped and wrapped. */
function indented(text: string, columns: number, { by, style = 'plain' }: Indent): readonly Line[] {
  const lines = wrapped(foreign(text).text, Math.max(1, columns - by));
  return lines.map((line) => [span(' '.repeat(by)), span(line, style)]);
}
