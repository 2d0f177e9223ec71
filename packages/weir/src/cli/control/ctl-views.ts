import type { RouteView } from '@weir/config/route-view';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import type { FlowView, SessionView, TrafficView } from '@weir/server/api/views';
import { printable } from '@weir/base/printable';
import { age, bytes } from '@weir/base/text/amounts';
import { textTable } from '@weir/base/tables';

/*
 * Tables for responses of the API. Their shapes are those of docs/openapi.yaml and are not checked; their texts are
 * untrusted and are escaped.
 */

export function routesTable({ default: main, groups, targets }: RouteView): string {
  const inheritText = (inherit: RouteView['groups'][number]['inherit']): string =>
    typeof inherit === 'string' ? inherit : `group ${inherit.group}`;
  const routes = textTable(
    ['ROUTE', 'TARGET', 'PICK', 'INHERITS'],
    [
      ...groups.map(({ name, target, pick, inherit }) => [
        name,
        target,
        pick,
        inheritText(inherit),
      ]),
      ['default', main.target, main.pick, null],
    ],
  );
  return `${routes}\n${textTable(
    ['CAN BE PICKED', 'KIND'],
    targets.map(({ name, kind }) => [name, kind]),
  )}`;
}

export function reportTable(report: ReloadReport): string {
  if (report.status === 'unchanged') return 'unchanged\n';
  const { status, ...lists } = report;
  const rows = Object.entries(lists)
    .filter(([, items]) => items.length > 0)
    .map(([name, items]) => [name, items.join(', ')]);
  return `${status}\n${rows.length > 0 ? textTable(['', ''], rows).split('\n').slice(1).join('\n') : ''}`;
}

const endpoint = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Name of an outbound. Queries to the proxy's own resolver, which is not an outbound, have an empty tag in the API. */
const outboundText = (tag: string): string => (tag === '' ? 'dns' : tag);

/** @param now Unix milliseconds */
export const flowsTable = (flows: readonly FlowView[], now: number): string =>
  textTable(
    [
      'ID',
      'AGE',
      'NET',
      'INBOUND',
      'USER',
      'SOURCE',
      'DESTINATION',
      'SNIFFED',
      'OUTBOUND',
      'RULE',
      'UP',
      'DOWN',
    ],
    flows.map((flow) => [
      flow.id,
      age(now - flow.started_at),
      flow.network,
      flow.inbound,
      flow.user,
      flow.source,
      endpoint(flow.host, flow.port),
      flow.sniffed,
      outboundText(flow.outbound),
      flow.rule ?? 'default',
      bytes(flow.up),
      bytes(flow.down),
    ]),
  );

/** @param now Unix milliseconds */
export const sessionsTable = (sessions: readonly SessionView[], now: number): string =>
  textTable(
    ['ID', 'AGE', 'INBOUND', 'USER', 'SOURCE', 'UP', 'DOWN'],
    sessions.map((session) => [
      session.id,
      age(now - session.started_at),
      session.inbound,
      session.user,
      session.source,
      bytes(session.up),
      bytes(session.down),
    ]),
  );

export const TRAFFIC_HEAD = `${['UP/s', 'DOWN/s', 'FLOWS', 'UP', 'DOWN'].map((head) => head.padStart(10)).join('')}\n`;

export function trafficLine({ up_rate, down_rate, flows, up, down }: TrafficView): string {
  const cells = [bytes(up_rate), bytes(down_rate), String(flows), bytes(up), bytes(down)];
  return `${cells.map((cell) => cell.padStart(10)).join('')}\n`;
}

/** Formats an event of the flow stream as a line. */
export function eventLine(event: string, data: unknown): string {
  if (event === 'lagged') {
    const { missed } = data as { missed: number };
    return `lagged   ${missed} events were missed\n`;
  }
  const { id, network, inbound, user, host, port, outbound, up, down } = data as FlowView;
  const account = user === null ? '' : ` (${user})`;
  const moved = event === 'closed' ? `  up ${bytes(up)}, down ${bytes(down)}` : '';
  const line = `${event.padEnd(7)}  ${id}  ${inbound}${account} -> ${network} ${endpoint(host, port)} by ${outboundText(outbound)}${moved}`;
  return `${printable(line)}\n`;
}
