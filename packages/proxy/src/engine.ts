/** Routes, dials and registers flows. */
export { DnsOutbound } from './engine/dns-outbound.ts';
export { FlowDispatcher } from './engine/flow-dispatcher.ts';
export { InboundRuntime } from './engine/inbound-runtime.ts';
export { LiveSessions } from './engine/live-sessions.ts';
export type { Exit, RoutingSnapshot } from './engine/routing-snapshot.ts';
