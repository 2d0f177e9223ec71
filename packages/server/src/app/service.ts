import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import {
  adoptPassedSockets,
  openSystemCalls,
  type PassedDescriptor,
  PassedSockets,
  type SystemCalls,
  UnixDatagrams,
} from '@weir/io/service';
import type { Clock, Timer } from '@weir/io/time';

/**
 * The parameters that a service manager passes to a process: sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3).
 */
interface ServiceEnvironment {
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
interface AdoptedSockets {
  /** Logs sockets that no listener uses; call it when everything is bound. */
  warnOfUnused(): void;
}

/**
 * Makes listeners use the sockets that a service manager has passed, and logs unusable ones.
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

interface NotifierOptions {
  readonly clock: Clock;
  readonly pid: number;
  /** Returns CLOCK_MONOTONIC in microseconds. */
  readonly monotonic: () => bigint;
  /** Interval in milliseconds within which the watchdog must be notified; `undefined` without a watchdog. */
  readonly watchdogMs: number | undefined;
  /** Sends without blocking; returns false when the send must be retried. */
  readonly send: (state: string) => boolean;
}

/** Milliseconds between two `EXTEND_TIMEOUT_USEC` during a start, a drain and a long stop. */
const EXTEND_EVERY_MS = 5_000;
/** Milliseconds that each `EXTEND_TIMEOUT_USEC` requests. */
const EXTENSION_MS = 30_000;
/** Milliseconds of a start after which no more time is requested. */
const LONGEST_START_MS = 300_000;

/** Milliseconds between retries while the manager's queue is full. */
const RETRY_MS = 50;
/** Maximum number of queued states; the oldest are dropped. */
const MAX_WAITING = 16;

/** Maximum characters of a status; systemd reads at most 4096 bytes. */
const MAX_STATUS = 800;

/**
 * Notifies the service manager of the state of the process: sd_notify(3).
 *
 * The watchdog is notified by a timer, so notifications stop when the event loop does.
 */
export class ServiceNotifier {
  readonly #options: NotifierOptions;
  /** Timer of the next request for more time. */
  #extension: Timer | undefined;
  /** Timer of the next notification of the watchdog. */
  #life: Timer | undefined;
  #retry: Timer | undefined;
  readonly #waiting: string[] = [];
  #reloads = 0;
  #phase: 'before' | 'starting' | 'ready' | 'stopping' = 'before';

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** Reports that the start begins; more time is requested until `ready`. */
  starting(status: string): void {
    this.#phase = 'starting';
    this.#post([statusLine(status)]);
    this.#extend(LONGEST_START_MS);
  }

  /** Reports that every listener accepts connections. */
  ready(status: string): void {
    if (this.#phase === 'stopping') return;
    this.#phase = 'ready';
    this.#post(['READY=1', `MAINPID=${this.#options.pid}`, statusLine(status)]);
    this.#extension?.cancel();
    this.#showLife();
  }

  /** Reports that a reload begins. Concurrent reloads are reported as one. */
  reloading(status: string): void {
    this.#reloads++;
    if (this.#reloads > 1 || this.#phase !== 'ready') return;
    this.#post(['RELOADING=1', `MONOTONIC_USEC=${this.#options.monotonic()}`, statusLine(status)]);
  }

  /** Reports that a reload has ended, successfully or not. */
  reloaded(status: string): void {
    this.#reloads--;
    if (this.#reloads > 0 || this.#phase !== 'ready') return;
    this.#post(['READY=1', statusLine(status)]);
  }

  /**
   * Reports that a drain begins: more time is requested until it ends or the process stops, for a stop that waits for
   * it.
   */
  draining(status: string): void {
    if (this.#phase !== 'ready') return;
    this.#post([statusLine(status)]);
    this.#extend(Infinity);
  }

  /** Reports that a drain was undone. */
  accepting(status: string): void {
    if (this.#phase !== 'ready') return;
    this.#extension?.cancel();
    this.#post([statusLine(status)]);
  }

  /**
   * Reports that the process stops.
   *
   * @param forMs milliseconds for which more time is requested: a stop may take longer than the manager's timeout
   */
  stopping(status: string, forMs = 0): void {
    this.#extension?.cancel();
    this.#phase = 'stopping';
    this.#post(['STOPPING=1', statusLine(status)]);
    if (forMs > 0) this.#extend(forMs);
  }

  /** Stops sending notifications. */
  close(): void {
    this.#extension?.cancel();
    this.#life?.cancel();
    this.#retry?.cancel();
    this.#waiting.length = 0;
  }

  /** Requests more time at intervals, for `forMs`. */
  #extend(forMs: number): void {
    this.#extension = this.#options.clock.after(EXTEND_EVERY_MS, () => {
      const leftMs = forMs - EXTEND_EVERY_MS;
      if (leftMs < 0) return;
      // Scheduled first: a failure to send must not prevent the next request, without which the manager would end the
      // service.
      this.#extend(leftMs);
      this.#post([`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1000}`]);
    });
  }

  #showLife(): void {
    const { clock, watchdogMs } = this.#options;
    if (watchdogMs === undefined) return;
    this.#life = clock.after(watchdogMs / 2, () => {
      this.#showLife();
      this.#post(['WATCHDOG=1']);
    });
  }

  #post(assignments: readonly string[]): void {
    const state = assignments.join('\n');
    if (this.#waiting.length === 0 && this.#options.send(state)) return;
    if (this.#waiting.includes(state)) return;
    this.#waiting.push(state);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#tryAgain();
  }

  #tryAgain(): void {
    this.#retry ??= this.#options.clock.after(RETRY_MS, () => {
      this.#retry = undefined;
      for (const state of this.#waiting.splice(0)) this.#post(state.split('\n'));
    });
  }
}

const statusLine = (status: string): string =>
  `STATUS=${status.replaceAll(/\s+/g, ' ').slice(0, MAX_STATUS)}`;

interface OpenNotifierOptions {
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
