import { asError } from '@weir/base';
import { Fifo } from '@weir/base/collections';
import { DeadlineError } from '../errors.ts';

/** A pending timer. */
export interface Timer {
  cancel(): void;
}

/**
 * The source of time of all code below `app`; tests replace it with a virtual clock.
 *
 * `now` is monotonic milliseconds with an arbitrary start; `wall` is milliseconds of Unix time.
 */
export interface Clock {
  now(): number;
  wall(): number;
  /** Calls `callback` once, `milliseconds` from now. Timers do not keep the process alive. */
  after(milliseconds: number, callback: () => void): Timer;
}

/** The longest delay of Node's timers; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The clock of this system: `performance.now()`, `Date.now()`, and timers of Node that do not keep the process alive.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(milliseconds, callback) {
    // Node warns about a negative delay, which a timer that is already due would have.
    return new SystemTimer(Math.max(0, Math.min(milliseconds, LONGEST_MS)), callback);
  },
};

/** Each flow has several: an object takes less memory than a closure and its context. */
class SystemTimer implements Timer {
  readonly #timer: NodeJS.Timeout;
  #callback: (() => void) | undefined;

  constructor(milliseconds: number, callback: () => void) {
    this.#callback = callback;
    this.#timer = setTimeout(onDue, milliseconds, this);
    this.#timer.unref();
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#callback = undefined;
  }

  run(): void {
    this.#callback?.();
  }
}

/**
 * Timers that call back in a row, before other events have their turn. Thousands of dials that have begun together reach
 * their limits together, and the end of each takes some tenths of a millisecond.
 */
export const TIMERS_IN_A_ROW = 16;

/** Timers that are due: beyond the share of a turn of the event loop they wait for the next ones, in order. */
class DueTimers {
  readonly #waiting = new Fifo<SystemTimer>();
  #left = TIMERS_IN_A_ROW;
  #isScheduled = false;

  run(timer: SystemTimer): void {
    if (this.#left <= TIMERS_IN_A_ROW / 2) this.#schedule();
    if (this.#left > 0 && this.#waiting.size === 0) {
      this.#left--;
      timer.run();
    } else this.#waiting.push(timer);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#isScheduled = false;
    this.#left = TIMERS_IN_A_ROW;
    try {
      while (this.#left > 0 && this.#waiting.size > 0) {
        this.#left--;
        this.#waiting.shift()?.run();
      }
    } finally {
      // Also if one has thrown. What was called back here uses the share of the timers that are due next.
      if (this.#left < TIMERS_IN_A_ROW) this.#schedule();
    }
  };
}

const dueTimers = new DueTimers();

const onDue = (timer: SystemTimer): void => dueTimers.run(timer);

/**
 * A time limit for a whole exchange (a handshake, a dial): `signal` aborts with a DeadlineError when
 * it passes, or with the reason of `parent` when that aborts. Dispose of it when the exchange ends.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: (() => void) | undefined;

  constructor(clock: Clock, milliseconds: number, what: string, parent?: AbortSignal) {
    this.#parent = parent;
    this.#timer = clock.after(milliseconds, () => {
      this.#controller.abort(
        new DeadlineError(`${what} took longer than ${milliseconds / 1000} s`),
      );
    });
    if (!parent) return;
    if (parent.aborted) this.#controller.abort(parent.reason);
    else {
      const onParent = (): void => this.#controller.abort(parent.reason);
      this.#onParent = onParent;
      parent.addEventListener('abort', onParent, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts `signal` for a reason other than the time limit. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
    if (this.#onParent) this.#parent?.removeEventListener('abort', this.#onParent);
  }
}

/**
 * Time limits that several protocols and layers share, in milliseconds. Limits of one protocol are in its own folder.
 */

/** Time for a client to authenticate and state its request. */
export const HANDSHAKE_MS = 10_000;

/** Time for a dial, including the handshake with an upstream proxy. */
export const DIAL_MS = 10_000;

/** Time without a byte from the server after which a shared dial starts another attempt in parallel. */
export const SILENT_ATTEMPT_MS = 2_000;

/** Time for a TLS handshake, on either side. */
export const TLS_HANDSHAKE_MS = 10_000;

/** Time to read a configuration that is not a file, such as standard input. */
export const CONFIG_STREAM_MS = 30_000;

/** Idle time after which the kernel sends keep-alive probes on a TCP connection. */
export const KEEP_ALIVE_DELAY_MS = 60_000;

/** Time without a byte in either direction after which a half-closed flow ends. */
export const HALF_CLOSED_IDLE_MS = 300_000;

/**
 * Data of a failed peer is passed on before the other side is reset: time for which the other side may accept nothing
 * of it.
 */
export const RESET_DELAY_MS = 5_000;

/** Time without a datagram after which a UDP flow, or an association as a whole, ends. */
export const UDP_IDLE_MS = 300_000;

/**
 * Time without a datagram after which an association ends whose peers were all DNS servers: a resolver sends one query.
 */
export const UDP_DNS_IDLE_MS = 10_000;

/** Time for which a header is delayed for the payload to be sent with it. */
export const FIRST_PAYLOAD_MS = 100;

/** Time for which a rejected client is read, so that a reset does not overtake the response. */
export const REJECTED_CLIENT_MS = 2_000;

const DNS_PORT = 53;

/** Returns the idle limit of datagrams to `port`. */
export const udpIdleMs = (port: number): number =>
  port === DNS_PORT ? UDP_DNS_IDLE_MS : UDP_IDLE_MS;

/** Returns the reason of an aborted signal, as an Error. */
export const abortReason = (signal: AbortSignal): Error => asError(signal.reason);

/**
 * Waits for `promise` until `signal` aborts. The promise itself is not affected, since others may
 * wait for it as well; its later rejection is handled.
 * @param reasonOf the error of an aborted wait; by default the signal's reason.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  reasonOf: (signal: AbortSignal) => Error = abortReason,
): Promise<T> {
  if (!signal) return promise;
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(reasonOf(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const over = (): void => signal.removeEventListener('abort', onAbort);
  promise.then(
    (value) => {
      over();
      resolve(value);
    },
    (error: unknown) => {
      over();
      reject(error);
    },
  );
  return settled;
}
