/** Weir inside another program: see docs/library.md. */
export { Weir, type PickOptions, type StartOptions, type StopOptions } from './library/weir.ts';
export type { LogCallback, LogLine } from './library/weir.ts';
export type { EventStream, FlowEventView } from './library/streams.ts';
export type { UsageView } from './library/usage-view.ts';
export type {
  ConnectionsView,
  FlowView,
  SessionView,
  TrafficFiguresView,
  TrafficView,
} from '@weir/server/api/views';
export {
  ControlError,
  type ControlErrorCode,
  type PickResult,
  type RouteGroupView,
  type RouteInherit,
  type RouteTargetView,
  type RouteView,
  type RoutesResult,
} from '@weir/server/api/contract';
export { ConfigError, type ConfigErrorKind, type ConfigLocation } from '@weir/config';
export { WeirError } from '@weir/base';
export type { LogLevel } from '@weir/base/log';
export type {
  AppliedReport,
  ReloadReport,
  UnchangedReport,
} from '@weir/server/supervisor/reload-report';
export type { FlowSelector, NamedUsage, UsageCounts, UsageDimension } from '@weir/proxy/tracker';
export { VERSION } from '@weir/base';
