/** Routes, dials and registers flows. */
export { BalancerGroup, type GroupMember } from './engine/balancer.ts';
export { DnsOutbound } from './engine/dns-outbound.ts';
export { FlowDispatcher } from './engine/flow-dispatcher.ts';
export { asDialError } from './engine/dial-errors.ts';
export { InboundRuntime } from './engine/inbound-runtime.ts';
export { LiveSessions } from './engine/live-sessions.ts';
export { LocalFlows, type LocalOptions } from './engine/local-flows.ts';
export {
  type RoutingTarget,
  OutboundVersion,
  type RoutingSnapshot,
} from './engine/routing-snapshot.ts';
