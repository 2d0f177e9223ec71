import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import {
  adoptPassedSockets,
  openSystemCalls,
  type PassedDescriptor,
  PassedSockets,
  type SystemCalls,
} from '@weir/io/service';

/**
 * The parameters that a service manager passes to a process: sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3).
 */
export interface ServiceEnvironment {
  /** `NOTIFY_SOCKET`; `undefined` where no manager expects notifications. */
  readonly notifySocket: string | undefined;
  /** Interval in milliseconds within which the watchdog must be notified; `undefined` without a watchdog. */
  readonly watchdogMs: number | undefined;
  /** The passed sockets, named as in `LISTEN_FDNAMES`; `unknown` without a name. */
  readonly passed: readonly PassedDescriptor[];
}

/** The first passed descriptor: `SD_LISTEN_FDS_START` of sd_listen_fds(3). */
const FIRST_FD = 3;
/** Maximum number of passed sockets; more than any manager passes, it bounds the work for an invalid environment. */
const MAX_PASSED = 1024;

const VARIABLES = [
  'NOTIFY_SOCKET',
  'WATCHDOG_USEC',
  'WATCHDOG_PID',
  'LISTEN_PID',
  'LISTEN_PIDFDID',
  'LISTEN_FDS',
  'LISTEN_FDNAMES',
] as const;

/**
 * Reads the variables and removes them, so that child processes do not inherit them. A watchdog and
 * sockets for a process other than `pid` are ignored.
 */
export function takeServiceEnvironment(
  env: Record<string, string | undefined>,
  pid: number,
): ServiceEnvironment {
  const {
    NOTIFY_SOCKET: notifySocket,
    WATCHDOG_USEC: watchdog,
    WATCHDOG_PID: watched,
    LISTEN_PID: listener,
    LISTEN_FDS: count,
    LISTEN_FDNAMES: names = '',
  } = env;
  for (const name of VARIABLES) delete env[name];
  const watchdogUs = toCount(watchdog);
  const isWatched = watchdogUs > 0 && (watched === undefined || toCount(watched) === pid);
  const passed = toCount(listener) === pid ? Math.min(toCount(count), MAX_PASSED) : 0;
  const named = names.split(':');
  return {
    notifySocket: notifySocket === '' ? undefined : notifySocket,
    watchdogMs: isWatched ? watchdogUs / 1000 : undefined,
    passed: Array.from({ length: passed }, (_, index) => ({
      fd: FIRST_FD + index,
      name: named[index] || 'unknown',
    })),
  };
}

/** The value of a decimal number; 0 for any other text. */
const toCount = (text: string | undefined): number =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;

/** The sockets that a service manager has passed to the process. */
export interface AdoptedSockets {
  /** Logs sockets that no listener uses; call it when everything is bound. */
  warnOfUnused(): void;
}

/**
 * Makes listeners use the sockets that a service manager has passed, and logs unusable ones.
 *
 * @param openCalls throws a NativeError where native calls are not available
 */
export function adoptSockets(
  descriptors: readonly PassedDescriptor[],
  log: Logger,
  openCalls: () => SystemCalls = openSystemCalls,
): AdoptedSockets {
  if (descriptors.length === 0) return { warnOfUnused: () => undefined };
  let sockets: PassedSockets;
  try {
    sockets = new PassedSockets(openCalls(), descriptors);
  } catch (error) {
    log.warn(`passed sockets cannot be used: ${messageOf(error)}`);
    return { warnOfUnused: () => undefined };
  }
  adoptPassedSockets(sockets);
  for (const reason of sockets.unusable) log.warn(`passed socket ${reason}; it is not used`);
  return {
    warnOfUnused() {
      for (const socket of sockets.unused) {
        log.warn(`passed socket ${socket} is the address of no inbound, and not of [api]`);
      }
    },
  };
}
