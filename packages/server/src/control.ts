/** Requests to a running instance on its control socket, and its responses. */
export {
  followLog,
  followUsage,
  LogRefusedError,
  openTunnel,
  requestAllLimits,
  requestDrain,
  requestLimits,
  requestLoadedFiles,
  requestLogFilter,
  requestProfile,
  requestReload,
  requestStatus,
  requestUsage,
  requestUserFlows,
  TunnelError,
} from './app/control/control-client.ts';
export type { AccountReport } from './app/control/limits-report.ts';
export {
  type DrainReport,
  type LoadedFiles,
  type LogEvent,
  type LoggedLine,
  MAX_CAUSE,
  type ProcessProfile,
} from './app/control/messages.ts';
export {
  type BalancerStatus,
  type EventLoopStatus,
  type InboundStatus,
  type LastReload,
  type MemberStatus,
  type RoutesStatus,
  type RunningStatus,
  servesFile,
  type TagTraffic,
  type TakenRule,
  type TakenRules,
  type TrafficStatus,
} from './app/control/running-status.ts';
export type { RunningUsage } from './app/control/usage-messages.ts';
