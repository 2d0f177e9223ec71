/** Documents and flows through outbounds. */
export type { FetchedDocument } from './fetch/contract.ts';
export { openFlows } from './fetch/open-flows.ts';
export type { OpenedFlow, OutboundFlows } from './fetch/outbound-flows.ts';
export { outboundNamed, readSpec } from './fetch/own-engine.ts';
export { RunningOutbounds } from './fetch/running-outbounds.ts';
