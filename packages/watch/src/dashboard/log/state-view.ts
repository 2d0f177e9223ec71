import type { SharedLog } from '@weir/client/monitor';
import type { DashboardContext } from '../contract.ts';
import type { LogStateView } from './view.ts';

/** The state of following the log; a Weir that is started later may have a control socket. */
export const logStateView = (
  { socket }: Pick<DashboardContext, 'socket'>,
  log: SharedLog,
): LogStateView => (socket === undefined ? { kind: 'absent' } : log.state);
