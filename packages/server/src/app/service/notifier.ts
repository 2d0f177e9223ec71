import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import type { Clock, Timer } from '@weir/io/time';
import { openSystemCalls, type SystemCalls, UnixDatagrams } from '@weir/io/service';
import type { ServiceEnvironment } from './environment.ts';

export interface NotifierOptions {
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
   * Reports that the process stops. @param forMs milliseconds for which more time is requested: a stop may take longer
   * than the manager's timeout
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
