import {
  GROUP_KEYS,
  SORT_KEYS,
  type GroupKey,
  type SortKey,
} from '../../shared/connection-keys.ts';
import type { ConnectionRow, FlowRow, GroupRow } from '../../connections/view.ts';
import type { Column } from '../components/grid.ts';
import { age, bytes, counted, Name, rate as rateText, since } from '../format.ts';
import { html } from '../html.ts';

/** The parameters of the list that the address contains. */
export type ListQuery = {
  readonly filter: string;
  readonly sort: SortKey;
  readonly descending: boolean;
  readonly group: GroupKey | 'none';
  readonly open: readonly string[];
};

export const SORTS: readonly (readonly [SortKey, string])[] = [
  ['age', 'Age'],
  ['rate', 'Rate'],
  ['down', 'Down'],
  ['up', 'Up'],
  ['host', 'Destination'],
  ['user', 'User'],
  ['source', 'Source'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['rule', 'Rule'],
];

/** The list that the parameters of the address describe; invalid ones are ignored. */
export function queryOf(parameters: Readonly<Record<string, string>>): ListQuery {
  const { filter = '', sort = '', order, group, open = '' } = parameters;
  return {
    filter,
    sort: isSortKey(sort) ? sort : 'age',
    descending: order === 'descending',
    group: GROUP_KEYS.find((key) => key === group) ?? 'none',
    open: namesOf(open),
  };
}

export const isSortKey = (text: string): text is SortKey =>
  SORT_KEYS.some((known) => known === text);

/** Whether a column is sorted in descending order at first. */
export const isAmount = (key: SortKey): boolean => key === 'up' || key === 'down' || key === 'rate';

/** The parameter `open` after the group `name` was toggled. */
export function openGroups(open: readonly string[], name: string): string {
  const next = open.includes(name) ? open.filter((other) => other !== name) : [...open, name];
  return next.length === 0 ? '' : JSON.stringify(next.slice(-MAX_OPEN));
}

const MAX_OPEN = 50;

function namesOf(text: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.map(String).slice(0, MAX_OPEN) : [];
  } catch {
    return [];
  }
}

/** Whether a row is the heading of a group. */
export const isGroup = (row: ConnectionRow): row is GroupRow => 'group' in row;

/** A flow's destination: the sniffed name, or the host that the client requested. */
export const Destination = ({ flow }: { readonly flow: FlowRow }) =>
  html`<${Name} text=${flow.sniffed ?? flow.host} title /><span class="dim">:${flow.port}</span>${
      flow.network === 'tcp' ? null : html` <span class="badge">${flow.network}</span>`
    }`;

/** The age of an open flow, or the duration of a closed one with a badge. */
export const AgeOf = ({ flow }: { readonly flow: FlowRow }) =>
  flow.closedAt === null
    ? html`${since(flow.startedAt)}`
    : html`<span class="badge">closed</span> ${age(flow.closedAt - flow.startedAt)}`;

/** The cells of a column: of a flow, and of the heading of a group. */
interface Cells {
  readonly flow: (row: FlowRow) => unknown;
  readonly group?: (row: GroupRow) => unknown;
}

const column = (
  key: string,
  title: string,
  width: string,
  { flow, group }: Cells,
  more: Partial<Column<ConnectionRow>> = {},
): Column<ConnectionRow> => ({
  key,
  title,
  width,
  ...(isSortKey(key) && { sorts: isAmount(key) ? 'descending' : 'ascending' }),
  cell: (row) => html`${isGroup(row) ? group?.(row) : flow(row)}`,
  ...more,
});

const text = (value: string | null) =>
  value === null || value === ''
    ? html`<span class="dim">–</span>`
    : html`<${Name} text=${value} title />`;

const rule = (value: number | null): string => (value === null ? 'default' : String(value));

const GroupName = ({ row }: { readonly row: GroupRow }) =>
  html`<span class="group-mark" aria-label=${row.isOpen ? 'open group' : 'group'}
      >${row.isOpen ? '▾' : '▸'}</span
    >
    ${row.group === '' ? html`<span class="dim">none</span>` : html`<${Name} text=${row.group} title />`}
    <span class="dim"> ${counted(row.flows, 'flow')}</span>`;

const HOST = column(
  'host',
  'Destination',
  'minmax(11rem, 3fr)',
  {
    flow: (flow) => html`<${Destination} flow=${flow} />`,
    group: (row) => html`<${GroupName} row=${row} />`,
  },
  { card: 'title' },
);
const USER = column('user', 'User', 'minmax(4.5rem, 0.8fr)', { flow: ({ user }) => text(user) });
const SOURCE = column('source', 'Source', 'minmax(7rem, 1.2fr)', {
  flow: ({ source }) => text(source),
});
const INBOUND = column('inbound', 'Inbound', 'minmax(4.5rem, 0.8fr)', {
  flow: ({ inbound }) => text(inbound),
});
const OUTBOUND = column('outbound', 'Outbound', 'minmax(6.5rem, 1.3fr)', {
  flow: ({ outbound }) => text(outbound),
});
const END = { end: true };
const RULE = column('rule', 'Rule', '4.5rem', { flow: (flow) => rule(flow.rule) }, END);
const upOf = ({ up }: ConnectionRow) => bytes(up);
const UP = column('up', 'Up', '5rem', { flow: upOf, group: upOf }, END);
const downOf = ({ down }: ConnectionRow) => bytes(down);
const DOWN = column('down', 'Down', '5rem', { flow: downOf, group: downOf }, END);
const rateOf = ({ upRate, downRate }: ConnectionRow) => rateText(upRate + downRate);
const RATE = column('rate', 'Rate', '5.5rem', { flow: rateOf, group: rateOf }, END);
const AGE = column('age', 'Age', '7rem', { flow: (flow) => html`<${AgeOf} flow=${flow} />` }, END);

/** The columns for wide windows: all of them. */
export const WIDE: readonly Column<ConnectionRow>[] = [
  HOST,
  USER,
  SOURCE,
  INBOUND,
  OUTBOUND,
  RULE,
  UP,
  DOWN,
  RATE,
  AGE,
];

/** The columns that a tablet has room for. */
export const MIDDLE: readonly Column<ConnectionRow>[] = [HOST, USER, OUTBOUND, DOWN, RATE, AGE];

/** The columns of cards: user and outbound are on the second line. */
export const CARDS: readonly Column<ConnectionRow>[] = [
  HOST,
  { ...RATE, card: 'aside' },
  column(
    'who',
    'User and outbound',
    '',
    {
      flow: ({ user, source, outbound }) => html`${text(user ?? source)} → ${text(outbound)}`,
      group: (row) => `up ${bytes(row.up)}, down ${bytes(row.down)}`,
    },
    { card: 'line' },
  ),
  { ...AGE, card: 'line-end' },
];
