/** Documents and flows through outbounds. */
export type { FetchedDocument, OpenedFlow, OutboundFlows } from './fetch/contract.ts';
export { openFlows, outboundNamed, readSpec, RunningOutbounds } from './fetch/open-flows.ts';
