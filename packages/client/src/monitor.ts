/** What is known of a running Weir, kept current. */
export type {
  LostCause,
  Monitor,
  MonitoredFlow,
  RatePoint,
  Reachability,
  TrafficPart,
} from './monitor/contract.ts';
export { type HealthReport, HealthWatch } from './monitor/health.ts';
export {
  type FailingOutbound,
  FailingOutbounds,
  LOG_LEVELS,
  type LogEntry,
  LogStore,
  SharedLog,
} from './monitor/log.ts';
export { pause } from './monitor/pause.ts';
export { type FlowUser, SumsByKey, userKey, userOfKey, WatchedSums } from './monitor/sums.ts';
