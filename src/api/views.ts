import type { RouteGroupView, RouteTargetView, RouteView } from '../config/route-view.ts';
import type { AppliedReport } from '../supervisor/reload-report.ts';
import type { Flow } from '../tracker/flow.ts';
import type { TrafficFigures, TrafficSnapshot } from '../tracker/traffic.ts';
import type { LiveSession } from '../tracker/tracker.ts';
import { u64Text } from './u64.ts';

/*
 * Views as JSON text. Flows and traffic are written without `JSON.stringify`: there may be
 * thousands of flows in a response and thousands of events per second, and tags that look like
 * integers must keep their order in a map.
 */

const text = JSON.stringify;
const textOrNull = (value: string | undefined): string =>
  value === undefined ? 'null' : text(value);

/** @param offset from monotonic to wall time: see `StartTimes` */
export function sessionJson(session: LiveSession, offset: number): string {
  const { id, inbound, source, user, up, down, startedAt } = session;
  return (
    `{"id":${id},"inbound":${text(inbound)},"source":${textOrNull(source)},` +
    `"user":${textOrNull(user)},"up":${u64Text(up)},"down":${u64Text(down)},` +
    `"started_at":${u64Text(offset + startedAt)}}`
  );
}

/** @param offset from monotonic to wall time: see `StartTimes` */
export function flowJson(flow: Flow, offset: number): string {
  const { session, inbound, user, source, destination, sniffed, outbound } = flow.info;
  const { outboundVersion, rule, planeEpoch } = flow.info;
  return (
    `{"id":${flow.id},"session":${session?.id ?? 'null'},"network":"${destination.network}",` +
    `"inbound":${text(inbound)},"user":${textOrNull(user)},"source":${textOrNull(source)},` +
    `"host":${text(destination.host)},"port":${destination.port},` +
    `"sniffed":${textOrNull(sniffed)},"outbound":${text(outbound)},` +
    `"outbound_version":${outboundVersion},"rule":${rule ?? 'null'},` +
    `"plane_epoch":${planeEpoch},"started_at":${u64Text(offset + flow.startedAt)},` +
    `"up":${u64Text(flow.up)},"down":${u64Text(flow.down)}}`
  );
}

export function trafficJson(snapshot: TrafficSnapshot): string {
  const { tick, intervalMs, inbounds, outbounds } = snapshot;
  return (
    `{"tick":${u64Text(tick)},"interval_ms":${u64Text(intervalMs)},${figures(snapshot)},` +
    `"inbounds":${figuresByTag(inbounds)},"outbounds":${figuresByTag(outbounds)}}`
  );
}

const figures = ({ up, down, upRate, downRate, flows }: TrafficFigures): string =>
  `"up":${u64Text(up)},"down":${u64Text(down)},"up_rate":${u64Text(upRate)},` +
  `"down_rate":${u64Text(downRate)},"flows":${flows}`;

function figuresByTag(tags: ReadonlyMap<string, TrafficFigures>): string {
  const entries = Array.from(tags, ([tag, value]) => `${text(tag)}:{${figures(value)}}`);
  return `{${entries.join(',')}}`;
}

/* Views are written field by field, so that no other property of the app's objects is exposed. */

export const defaultJson = ({ pick, target }: RouteView['default']): string =>
  text({ pick, target });

export const groupJson = ({ name, pick, inherit, target }: RouteGroupView): string =>
  text({ name, pick, inherit, target });

export const targetJson = ({ name, kind }: RouteTargetView): string => text({ name, kind });

/** The lists of a report, in output order. */
export const REPORT_LISTS = [
  'built',
  'swapped',
  'drained',
  'rebound',
  'restarted',
  'removed',
  'reused',
] as const satisfies readonly (keyof AppliedReport)[];
