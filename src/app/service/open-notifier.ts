import { messageOf } from '../../errors.ts';
import type { Logger } from '../../log/logger.ts';
import type { Clock } from '../../net/time/clock.ts';
import { UnixDatagrams } from '../../platform/unix-datagrams.ts';
import { openSystemCalls, type SystemCalls } from '../../platform/sockets/bindings.ts';
import { ServiceNotifier, type NotifierOptions } from './notifier.ts';
import type { ServiceEnvironment } from './environment.ts';

export interface OpenNotifierOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly pid: number;
  /** Opens native calls. @throws {NativeError} */
  readonly openCalls?: () => SystemCalls;
}

/**
 * Creates the notifier of a process, which does nothing without a service manager. A failure to notify is logged once:
 * the manager will consider the start of the process failed.
 */
export function openNotifier(
  { notifySocket, watchdogMs }: ServiceEnvironment,
  { clock, log, pid, openCalls = openSystemCalls }: OpenNotifierOptions,
): ServiceNotifier {
  return new ServiceNotifier({
    clock,
    pid,
    monotonic: () => process.hrtime.bigint() / 1000n,
    ...senderTo(notifySocket, watchdogMs, log, openCalls),
  });
}

type Sender = Pick<NotifierOptions, 'send' | 'watchdogMs'>;

const SILENT: Sender = { send: () => true, watchdogMs: undefined };

function senderTo(
  socket: string | undefined,
  watchdogMs: number | undefined,
  log: Logger,
  openCalls: () => SystemCalls,
): Sender {
  if (socket === undefined) return SILENT;
  if (socket.startsWith('vsock')) {
    log.debug(`service manager: NOTIFY_SOCKET=${socket} is ignored: only unix sockets are served`);
    return SILENT;
  }
  if (!/^[@/]./.test(socket)) {
    log.warn(`service manager: NOTIFY_SOCKET=${JSON.stringify(socket)} is no unix socket`);
    return SILENT;
  }
  let calls: SystemCalls;
  try {
    calls = openCalls();
  } catch (error) {
    log.warn(`service manager: it cannot be notified: ${messageOf(error)}`);
    return SILENT;
  }
  const datagrams = new UnixDatagrams(calls, socket.replace(/^@/, '\0'));
  let failed = false;
  const send = (state: string): boolean => {
    try {
      return datagrams.send(Buffer.from(state));
    } catch (error) {
      if (!failed) log.warn(`service manager: it cannot be notified: ${messageOf(error)}`);
      failed = true;
      return true; // a retry would fail too
    }
  };
  return { send, watchdogMs };
}
