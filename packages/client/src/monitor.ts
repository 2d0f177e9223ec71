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
export { type FailingOutbound, FailingOutbounds } from './monitor/log/failing-outbounds.ts';
export { LOG_LEVELS, type LogEntry, LogStore } from './monitor/log/log-store.ts';
export { SharedLog } from './monitor/log/shared-log.ts';
export { SumsByKey } from './monitor/sums/sums-by-key.ts';
export { type FlowUser, userKey, userOfKey } from './monitor/sums/user-key.ts';
export { WatchedSums } from './monitor/sums/watched-sums.ts';
