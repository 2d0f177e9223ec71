/** Weir inside another program: see docs/library.md. */
export { Weir } from './library/weir.ts';
export type { PickOptions, ReloadOptions, StartOptions, StopOptions } from './library/weir.ts';
export type { ConfigInput, ConfigText } from './library/config-input.ts';
export type * from './library/config-types.ts';
export type { Routes, CurrentRoutesView } from './library/routes.ts';
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
} from '@weir/server/api/contract';
export { ConfigError, type ConfigErrorKind, type ConfigLocation } from '@weir/config';
export { DialError, type DialErrorCode } from '@weir/io';
export type {
  AuthorizeAnswer,
  AuthorizeQuestion,
  Hook,
  RouteAnswer,
  RouteQuestion,
} from '@weir/proxy/hooks';
export type { HookOptions } from './library/hooks.ts';
export type { AgentOptions, WeirAgents } from './library/agent.ts';
export type { DispatcherOptions, FetchDispatcher, UndiciModule } from './library/dispatcher.ts';
export type { Datagram, DatagramPeer, WeirAssociation } from './library/association.ts';
export type { WeirAssociateOptions, WeirConnectOptions, WeirDialOptions } from './library/dial.ts';
export type { SocketOptions, WeirSocket } from './library/socket.ts';
export { WeirError } from '@weir/base';
export type { LogLevel } from '@weir/base/log';
export type { ListenerNetwork, ListenerView } from '@weir/server/supervisor/listener-view';
export type {
  AppliedReport,
  ReloadReport,
  UnchangedReport,
} from '@weir/server/supervisor/reload-report';
export type { FlowSelector, NamedUsage, UsageCounts, UsageDimension } from '@weir/proxy/tracker';
export { VERSION } from '@weir/base';
