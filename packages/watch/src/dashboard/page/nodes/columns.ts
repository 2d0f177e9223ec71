import type { NodeProbe, NodeRow } from '../../nodes/view.ts';
import type { Column } from '../components/grid.ts';
import { bytes, count, milliseconds, Name, rate } from '../format.ts';
import { html } from '../html.ts';

export const COLUMNS: readonly Column<NodeRow>[] = [
  {
    key: 'tag',
    title: 'Node',
    width: 'minmax(9rem, 2fr)',
    sorts: 'ascending',
    card: 'title',
    cell: (row) => html`<${Name} text=${row.tag} title />${' '}<${Marks} row=${row} />`,
  },
  {
    key: 'protocol',
    title: 'Protocol',
    width: 'minmax(7rem, 1fr)',
    sorts: 'ascending',
    card: 'line',
    cell: (row) => html`${row.protocol}<span class="dim"> ${kindOf(row)}</span>`,
  },
  {
    key: 'server',
    title: 'Server',
    width: 'minmax(8rem, 2fr)',
    cell: ({ server, members, moreMembers }) =>
      server === null
        ? html`<span class="dim"
            >${
              members.length > 0 &&
              html`<${Name}
                text=${members.map(({ tag }) => tag).join(', ') + (moreMembers > 0 ? ', …' : '')}
                title
              />`
            }</span
          >`
        : html`<${Name} text=${server} title />`,
  },
  {
    key: 'source',
    title: 'From',
    width: 'minmax(5rem, 1fr)',
    extra: true,
    cell: (row) => originOf(row),
  },
  {
    key: 'flows',
    title: 'Flows',
    width: '4.5rem',
    end: true,
    sorts: 'descending',
    cell: ({ flows }) => (flows === 0 ? '–' : count(flows)),
  },
  {
    key: 'rate',
    title: 'Rate',
    width: '5.5rem',
    end: true,
    sorts: 'descending',
    card: 'line-end',
    cell: ({ up, down }) => rate(up + down),
  },
  {
    key: 'total',
    title: 'Total',
    width: '5rem',
    extra: true,
    end: true,
    sorts: 'descending',
    cell: ({ upTotal, downTotal }) =>
      upTotal + downTotal === 0 ? '–' : bytes(upTotal + downTotal),
  },
  {
    key: 'second',
    title: 'Probe',
    width: '8rem',
    end: true,
    sorts: 'ascending',
    card: 'aside',
    cell: ({ probe }) => html`<${ProbeCell} probe=${probe} />`,
  },
];

const kindOf = ({ kind, carrier }: NodeRow): string =>
  kind === 'balancer' ? 'balancer' : kind === 'gone' ? 'no longer in the file' : carrier;

/** The origin of a node as text: its subscription, or the kind of file. */
export function originOf({ kind, origin, source }: NodeRow) {
  if (kind === 'gone') return '–';
  if (source !== null) return html`<${Name} text=${source} title />`;
  return { config: 'configuration', subscribe: 'nodes file', builtin: 'built in' }[origin];
}

/** Badges for the problems of a row, and for versions and nodes that are about to end. */
const Marks = ({ row }: { readonly row: NodeRow }) => {
  const { health, members, versions, goneSince, acceptsAny, lostFrom } = row;
  const down = members.filter((each) => each.health.state === 'unavailable').length;
  return html`${health?.state === 'unavailable' && html`<span class="badge bad">✕ down</span>`}
  ${down > 0 && html`<span class="badge bad">✕ ${down} down</span>`}
  ${versions.length > 1 && html`<span class="badge">draining</span>`}
  ${goneSince !== null && html`<span class="badge">kept</span>`}
  ${lostFrom.length > 0 && html`<span class="badge bad">✕ nodes gone</span>`}
  ${acceptsAny && html`<span class="badge bad">any certificate</span>`}`;
};

export const ProbeCell = ({ probe }: { readonly probe: NodeProbe | null }) => {
  if (probe === null) return '–';
  if (probe.state === 'waiting') return html`<span class="dim">waiting</span>`;
  if (probe.state === 'running') return html`<span class="dim">probing …</span>`;
  if (probe.state === 'cancelled') return html`<span class="dim">cancelled</span>`;
  const { succeeded, tries, second, firstByte } = probe;
  if (succeeded === 0) return html`<span class="badge bad">✕ failed</span>`;
  const time = ms(second ?? firstByte);
  return succeeded < tries ? html`${time} <span class="dim">${succeeded}/${tries}</span>` : time;
};

/** Milliseconds as text: `31 ms`; a dash where the connection has no such step. */
export const ms = (value: number | null): string => (value === null ? '–' : milliseconds(value));
