/** Outbounds as routes name them: one version, or a group that picks. */
export { BalancerGroup, type GroupMember } from './engine/balancer.ts';
export { asDialError } from './engine/flow-record.ts';
export { OutboundVersion } from './engine/routing-snapshot.ts';
