/** Weir inside another program: see docs/library.md. */
export { Weir, type PickOptions, type StartOptions, type StopOptions } from './library/weir.ts';
export type { LogCallback, LogLine } from './library/callback-logger.ts';
export type { EventStream, FlowEventView } from './library/streams.ts';
export type {
  ConnectionsView,
  FlowView,
  SessionView,
  TrafficFiguresView,
  TrafficView,
} from './api/views.ts';
export {
  ControlError,
  type ControlErrorCode,
  type PickResult,
  type RouteGroupView,
  type RouteInherit,
  type RouteTargetView,
  type RouteView,
  type RoutesResult,
} from './api/contract.ts';
export { ConfigError, type ConfigErrorKind, type ConfigLocation } from './config/errors.ts';
export { WeirError } from './errors.ts';
export type { LogLevel } from './log/logger.ts';
export type { AppliedReport, ReloadReport, UnchangedReport } from './supervisor/reload-report.ts';
export type { FlowSelector } from './tracker/tracker.ts';
export { VERSION } from './version.ts';
