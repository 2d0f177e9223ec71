import type { FlowView } from '@weir/server/api/views';
import type { MonitoredFlow } from '@weir/client/monitor';
import { printable } from '@weir/base/printable';
import { age, bytes } from '@weir/base/text/amounts';
import { fitted, span, type Line } from './line.ts';
import type { TopSort } from './top-state.ts';

interface FlowColumn {
  readonly head: string;
  readonly width: number;
  readonly end: 'left' | 'right';
  /** Minimum width of terminals that show the column. */
  readonly from: number;
  readonly sort?: TopSort;
  readonly text: (flow: MonitoredFlow, now: number) => string;
}

const rate = (value: number): string => (value === 0 ? '' : `${bytes(value)}/s`);

/** Destination and port, with the sniffed name. */
export const flowTarget = ({ host, port, sniffed }: FlowView): string =>
  `${sniffed !== null && sniffed !== host ? `${sniffed} ` : ''}${host.includes(':') ? `[${host}]` : host}:${port}`;

const COLUMNS: readonly FlowColumn[] = [
  { head: 'ID', width: 7, end: 'right', from: 110, text: ({ view }) => String(view.id) },
  {
    head: 'AGE',
    width: 7,
    end: 'right',
    from: 0,
    sort: 'age',
    text: ({ view, closedAt }, now) =>
      closedAt === undefined ? age(now - view.started_at) : 'closed',
  },
  { head: 'NET', width: 3, end: 'left', from: 100, text: ({ view }) => view.network },
  {
    head: 'USER',
    width: 10,
    end: 'left',
    from: 90,
    sort: 'user',
    text: ({ view }) => view.user ?? '-',
  },
  {
    head: 'SOURCE',
    width: 15,
    end: 'left',
    from: 120,
    sort: 'source',
    text: ({ view }) => view.source ?? '-',
  },
  {
    head: 'DESTINATION',
    width: 0,
    end: 'left',
    from: 0,
    sort: 'host',
    text: ({ view }) => flowTarget(view),
  },
  {
    head: 'OUTBOUND',
    width: 12,
    end: 'left',
    from: 50,
    sort: 'outbound',
    text: ({ view }) => (view.outbound === '' ? 'dns' : view.outbound),
  },
  {
    head: 'RULE',
    width: 7,
    end: 'right',
    from: 130,
    text: ({ view }) => String(view.rule ?? 'default'),
  },
  { head: 'RATE', width: 10, end: 'right', from: 40, sort: 'rate', text: ratesOf },
  { head: 'UP', width: 8, end: 'right', from: 80, sort: 'up', text: ({ view }) => bytes(view.up) },
  {
    head: 'DOWN',
    width: 8,
    end: 'right',
    from: 60,
    sort: 'down',
    text: ({ view }) => bytes(view.down),
  },
];

function ratesOf({ upRate, downRate }: MonitoredFlow): string {
  return rate(upRate + downRate);
}

/** The columns for a terminal of this width; the destination takes the remaining space. */
function shownColumns(columns: number): readonly FlowColumn[] {
  const shown = COLUMNS.filter(({ from }) => columns >= from);
  const taken = shown.reduce((sum, { width }) => sum + width + 1, 1);
  const rest = Math.max(8, columns - taken);
  return shown.map((column) => (column.width === 0 ? { ...column, width: rest } : column));
}

/** The headings. @param sort the column that is marked, with `*` for terminals without bold */
export const flowHead = (columns: number, sort: TopSort): Line => {
  const heads = shownColumns(columns).map(({ head, width, end, sort: by }) =>
    span(`${fitted(by === sort ? `${head}*` : head, width, end)} `, by === sort ? 'bold' : 'dim'),
  );
  return [span(' ', 'dim'), ...heads];
};

export function flowLine(
  flow: MonitoredFlow,
  columns: number,
  { now, isSelected }: { readonly now: number; readonly isSelected: boolean },
): Line {
  const cells = shownColumns(columns).map(({ width, end, text }) =>
    fitted(printable(text(flow, now)), width, end),
  );
  const style = isSelected ? 'selected' : flow.closedAt === undefined ? 'plain' : 'dim';
  return [span(`${isSelected ? '>' : ' '}${cells.join(' ')}`, style)];
}
