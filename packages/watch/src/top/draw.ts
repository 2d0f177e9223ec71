import type { RatePoint } from '@weir/client/monitor';
import { printable, quoted } from '@weir/base/printable';
import { age, bytes } from '@weir/base/text/amounts';
import { flowHead, flowLine } from './flow-columns.ts';
import { cutStart, fitted, foreign, span, type Line, type Style } from './line.ts';
import { overlayLines, overlayRows } from './overlay-lines.ts';
import {
  routeRows,
  targetsWith,
  type Snapshot,
  type Overlay,
  type TextOverlay,
  type TopState,
} from './top-state.ts';
import { hintsOf } from '@weir/base';

/** The lines of the whole screen. */
export function draw(state: TopState, snapshot: Snapshot): readonly Line[] {
  const { columns, rows } = snapshot.size;
  const { overlay } = state;
  const foot = footLines(state, snapshot);
  const most = Math.max(1, Math.floor(rows / MOST_TROUBLE_SHARE));
  const head = [headLine(snapshot), rateLine(snapshot, columns), ...troubleLines(snapshot, most)];
  const room = Math.max(1, rows - head.length - foot.length);
  if (overlay && overlay.kind !== 'filter' && overlay.kind !== 'targets') {
    const lines = overlayLines(overlay, snapshot, columns);
    if (lines.length > room) return scrolledLines(state, overlay, lines, snapshot);
    return filled([...head, ...lines], foot, rows);
  }
  const body =
    overlay?.kind === 'targets'
      ? targetLines(overlay, snapshot, room)
      : state.page === 'flows'
        ? flowLines(state, snapshot, columns, room)
        : routeLines(state, snapshot, columns, room);
  return filled([...head, ...body.slice(0, room)], foot, rows);
}

/** Troubles take at most the rows divided by this number. */
const MOST_TROUBLE_SHARE = 3;

/** Fills the rows: lines, empty lines, and the foot at the end. */
function filled(lines: readonly Line[], foot: readonly Line[], rows: number): readonly Line[] {
  const empty = Math.max(0, rows - lines.length - foot.length);
  return [...lines, ...Array.from({ length: empty }, (): Line => []), ...foot].slice(-rows);
}

/** A window of an overlay that is too long for the terminal, without the head. */
function scrolledLines(
  { scrolled }: TopState,
  overlay: TextOverlay,
  lines: readonly Line[],
  { size }: Snapshot,
): readonly Line[] {
  const room = overlayRows(size);
  const last = Math.max(0, lines.length - room);
  const first = scrolled?.overlay === overlay ? Math.min(last, scrolled.lines) : 0;
  const hidden = last - first;
  const more = hidden === 0 ? '' : `${hidden} more ${hidden === 1 ? 'line' : 'lines'}: down arrow`;
  return filled(lines.slice(first, first + room), [[span(more, 'warn')]], size.rows);
}

const HEALTH_STYLES: Readonly<Record<Snapshot['health']['word'], Style>> = {
  Connecting: 'dim',
  Serving: 'good',
  'Reload refused': 'bad',
  'API lost': 'bad',
  'No API': 'warn',
  Behind: 'warn',
};

function headLine({ monitor, health, name, now, readOnly }: Snapshot): Line {
  const { traffic, listedAt, version } = monitor;
  const newest = Math.max(traffic?.at ?? 0, listedAt ?? 0);
  const old = newest === 0 || now - newest < 3_000 ? '' : `  data of ${age(now - newest)} ago`;
  return [
    foreign(name, 'bold'),
    span(version === undefined ? '' : ` ${printable(version)}`, 'dim'),
    span('  '),
    span(health.word, HEALTH_STYLES[health.word]),
    span(health.why === '' ? '' : `: ${health.why}`),
    span(readOnly ? '  read-only' : '', 'dim'),
    span(old, 'warn'),
  ];
}

const BARS = ' ▁▂▃▄▅▆▇█';
const BAR_COLUMNS = 40;

/** A sparkline of rates, relative to the largest; the newest is at the end. */
export function sparkline(points: readonly RatePoint[]): string {
  const values = points.map(({ up, down }) => up + down);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  return values
    .map((value) => BARS[most === 0 ? 0 : Math.ceil((value / most) * (BARS.length - 1))])
    .join('');
}

function rateLine({ monitor }: Snapshot, columns: number): Line {
  const { traffic, history, missed } = monitor;
  const rates = traffic
    ? `up ${fitted(`${bytes(traffic.upRate)}/s`, 10, 'right')}  down ${fitted(`${bytes(traffic.downRate)}/s`, 10, 'right')}  ${traffic.flows} flows`
    : 'up -  down -';
  const bars = columns >= 100 ? sparkline(history.seconds.slice(-BAR_COLUMNS)) : '';
  return [
    span(rates),
    span(`  ${bars}`, 'dim'),
    span(missed > 0 ? `  ${missed} events missed` : '', 'warn'),
  ];
}

function flowLines(
  state: TopState,
  { flows, now, monitor }: Snapshot,
  columns: number,
  room: number,
): readonly Line[] {
  if (flows.length === 0) {
    return [[], [span(`  ${noFlows(state, monitor.listedAt)}`, 'dim')]];
  }
  const at = Math.max(
    0,
    flows.findIndex(({ view }) => view.id === state.flow),
  );
  const { first, count } = windowAt(at, flows.length, room - 1);
  const rows = flows
    .slice(first, first + count)
    .map((flow) => flowLine(flow, columns, { now, isSelected: flow.view.id === state.flow }));
  return [flowHead(columns, state.sort), ...rows];
}

function noFlows({ filter }: TopState, listedAt: number | undefined): string {
  if (listedAt === undefined) return 'The flows are not known yet.';
  return filter.text === '' ? 'No flows.' : 'No flow matches.';
}

const ROUTE_COLUMNS = [0.3, 0.3, 0.2, 0.2] as const;

function routeLines(
  state: TopState,
  { monitor }: Snapshot,
  columns: number,
  room: number,
): readonly Line[] {
  const rows = routeRows(monitor.routes?.value.view);
  const cells = (texts: readonly (string | null)[]): string =>
    texts
      .map((text, at) =>
        fitted(printable(text ?? '-'), Math.floor((columns - 5) * (ROUTE_COLUMNS[at] ?? 0))),
      )
      .join(' ');
  const problem = monitor.routesError;
  const at = Math.max(
    0,
    rows.findIndex(({ name }) => name === state.route),
  );
  const { first, count } = windowAt(at, rows.length, room - (problem ? 2 : 1));
  return [
    ...(problem ? [[span('! ', 'bad'), foreign(problem.message)]] : []),
    [span(` ${cells(['ROUTE', 'GOES TO', 'PICK', 'INHERITS'])}`, 'dim')],
    ...rows.slice(first, first + count).map(({ name, target, pick, inherits }) => {
      const isSelected = name === state.route;
      const text = cells([name, target, pick, inherits === '' ? null : inherits]);
      return [span(`${isSelected ? '>' : ' '}${text}`, isSelected ? 'selected' : 'plain')];
    }),
  ];
}

/** The targets that a route can be set to; the cursor is always among those shown. */
function targetLines(
  { route, cursor, find }: Extract<Overlay, { kind: 'targets' }>,
  { monitor }: Snapshot,
  room: number,
): readonly Line[] {
  const view = monitor.routes?.value.view;
  const targets = targetsWith(view, find);
  const { first, count } = windowAt(cursor, targets.length, room - 1);
  const found = find === '' ? '' : `  ${targets.length} of ${view?.targets.length ?? 0}`;
  return [
    [foreign(` Where ${quoted(route)} goes`, 'bold'), span(found, 'dim')],
    ...targets.slice(first, first + count).map(({ name, kind }, index) => {
      const isSelected = first + index === cursor;
      return [
        foreign(`${isSelected ? '>' : ' '}${name}`, isSelected ? 'selected' : 'plain'),
        span(`  ${kind}`, 'dim'),
      ];
    }),
  ];
}

/** The part of a list around the cursor that is shown. */
function windowAt(
  cursor: number,
  length: number,
  room: number,
): { readonly first: number; readonly count: number } {
  const count = Math.max(0, room);
  return { first: Math.max(0, Math.min(cursor - Math.floor(count / 2), length - count)), count };
}

/** The line in which a search is typed. */
const typedLine = (text: string, columns: number): Line => [
  span('/', 'bold'),
  span(cutStart(printable(text), Math.max(0, columns - 2))),
  span('_', 'bold'),
];

function footLines(state: TopState, { flows, size }: Snapshot): readonly Line[] {
  const { overlay, filter, isFrozen } = state;
  if (overlay?.kind === 'filter') {
    const { text, problem } = overlay;
    return [
      ...(problem === undefined ? [] : [[foreign(problem, 'bad')]]),
      typedLine(text, size.columns),
    ];
  }
  if (overlay?.kind === 'targets') {
    return overlay.isTyping
      ? [typedLine(overlay.find, size.columns)]
      : [[span('/ search  Enter pick  Esc back', 'dim')]];
  }
  const shown = state.page === 'flows' ? `${flows.length} shown` : 'routes';
  return [
    [
      span(shown, 'dim'),
      foreign(filter.text === '' ? '' : `  /${filter.text}`),
      span(isFrozen ? '  frozen' : '', 'warn'),
      span('  ? keys  q quit  / filter  s sort  Enter details  x close  p routes  r reload', 'dim'),
    ],
  ];
}

/** Maximum number of lines about balancer members, and about outbounds. */
const MOST_OF_A_KIND = 3;

/**
 * Current troubles: of sources of data, the last reload, members of balancers, outbounds.
 * @param most maximum number of lines, at least 1
 */
function troubleLines(snapshot: Snapshot, most: number): readonly Line[] {
  const members = memberLines(snapshot);
  const outbounds = outboundLines(snapshot);
  const lines = [
    ...sourceLines(snapshot),
    ...reloadLines(snapshot),
    ...members.slice(0, MOST_OF_A_KIND),
    ...outbounds.slice(0, MOST_OF_A_KIND),
  ];
  const hidden = [members, outbounds].reduce(
    (sum, list) => sum + Math.max(0, list.length - MOST_OF_A_KIND),
    0,
  );
  if (hidden === 0 && lines.length <= most) return lines;
  const shown = lines.slice(0, Math.max(0, most - 1));
  return [...shown, [span(`  and ${lines.length - shown.length + hidden} more`, 'dim')]];
}

function sourceLines({ monitor }: Snapshot): readonly Line[] {
  const lines: Line[] = [];
  for (const [what, state] of [
    ['API', monitor.api],
    ['control socket', monitor.socket],
  ] as const) {
    if (state.kind === 'lost') {
      const hint = hintsOf(state.error)[0];
      lines.push([
        span(`! ${what}: `, 'bad'),
        foreign(state.error.message),
        foreign(hint === undefined ? '' : ` (${hint})`, 'dim'),
      ]);
    } else if (state.kind === 'absent') {
      const missing =
        what === 'API'
          ? 'the configuration has no [api]: add it, and reload'
          : 'not found: no failures, balancers and limits here';
      lines.push([span(`! ${what}: `, 'warn'), span(missing)]);
    }
  }
  return lines;
}

function reloadLines({ monitor }: Snapshot): readonly Line[] {
  const outcome = monitor.status?.value.last_reload?.outcome;
  return outcome?.kind === 'failed' ? [[span('! reload: ', 'bad'), foreign(outcome.line)]] : [];
}

const memberLines = ({ monitor }: Snapshot): readonly Line[] =>
  (monitor.status?.value.balancers ?? []).flatMap(({ tag, members }) =>
    members
      .filter(({ health }) => health === 'unavailable')
      .map(({ outbound, error }) => [
        span('! ', 'bad'),
        foreign(`${outbound} of ${tag} is down`),
        foreign(error === null ? '' : `: ${error}`),
      ]),
  );

const outboundLines = ({ failing, now }: Snapshot): readonly Line[] =>
  failing.map(({ outbound, cause, count, last }) => [
    span('! ', 'bad'),
    foreign(`${outbound}: ${count} failed, the last ${age(now - last)} ago: ${cause}`),
  ]);
