/** Builds what a Spec names. */
export { buildOutbound, loadForOutbounds, type OutboundMakers } from './supervisor/build.ts';
export { Supervisor } from './supervisor/supervisor.ts';
