/** Sessions, flows, counters and events. */
export {
  type FlowEvent,
  type FlowNotice,
  FlowSubscription,
  KEPT_EVENTS,
} from './tracker/flow-events.ts';
export { Flow } from './tracker/flow.ts';
export { type FlowSelector, killFlows, type LiveSession, Tracker } from './tracker/tracker.ts';
export {
  type NamedUsage,
  usageByName,
  USAGE_DIMENSIONS,
  type DimensionUsage,
  type UsageCounts,
  type UsageDimension,
  type UsageEntry,
  type UsageReport,
} from './tracker/usage.ts';
export { type TrafficFigures, TrafficSampler, type TrafficSnapshot } from './tracker/traffic.ts';
