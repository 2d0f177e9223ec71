import type { MonitoredFlow } from '@weir/client/monitor';
import type { FlowRow } from './view.ts';
import type { GroupKey } from '../shared/connection-keys.ts';

/** The row of a flow, as pages receive it. */
export function flowRow({ view, upRate, downRate, closedAt }: MonitoredFlow): FlowRow {
  return {
    id: view.id,
    session: view.session,
    network: view.network,
    inbound: view.inbound,
    user: view.user,
    source: view.source,
    host: view.host,
    port: view.port,
    sniffed: view.sniffed,
    outbound: view.outbound,
    version: view.outbound_version,
    rule: view.rule,
    startedAt: view.started_at,
    closedAt: closedAt ?? null,
    up: view.up,
    down: view.down,
    upRate: Math.round(upRate),
    downRate: Math.round(downRate),
  };
}

/** The name of the group that a flow belongs to. */
export function groupOf({ view }: MonitoredFlow, key: GroupKey): string {
  switch (key) {
    case 'host':
      return view.sniffed ?? view.host;
    case 'rule':
      return view.rule === null ? 'default' : String(view.rule);
    case 'user':
    case 'source':
      return view[key] ?? '';
    case 'outbound':
    case 'inbound':
    case 'network':
      return view[key];
    default:
      return key satisfies never;
  }
}
