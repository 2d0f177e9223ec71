import { accountRoom, type EqualRoom } from '@weir/io/bounds';
import type { ByteGate, GateWaiter } from '@weir/io/links';
import type { Clock, Timer } from '@weir/io/time';

/** Milliseconds of the rate that an idle account may send at once: as long as busy machines pause programs. */
const BURST_MS = 200;
/** Milliseconds of the rate that one flow gets before the next one has its turn. */
const QUANTUM_MS = 10;
/** Bounds of that share in bytes: 5 % of ten seconds of the lowest rate, and what is moved without a noticeable stall. */
const LEAST_QUANTUM = 512;
const MOST_QUANTUM = 256 << 10;
/** Flows that continue in one turn of the event loop, and bytes after which the others wait for the next turn. */
const RESUMED_A_TURN = 256;
const BYTES_A_TURN = 1 << 20;

/**
 * One direction of an account: bytes that its flows may move, by a token bucket and by what is left of its limit.
 *
 * Flows that have to wait are resumed in the order in which they came, each for one share, so that all get the same rate.
 * A flow may overdraw the bucket by one share or one datagram; the next one waits until that is paid.
 */
export class Gate implements ByteGate {
  readonly #clock: Clock;
  readonly #left: () => number;
  /** Bytes per millisecond; `undefined` without a rate. */
  #rate: number | undefined;
  #quantum = 0;
  #burst = 0;
  #tokens = 0;
  /** When the tokens were last counted. */
  #at = 0;
  readonly #waiters = new Set<GateWaiter>();
  #timer: Timer | undefined;
  /** Whether a waiter is being resumed, which need not wait behind the others. */
  #resuming = false;
  /** Bytes that were moved since the last turn of the timer began. */
  #movedInTurn = 0;

  #datagrams: EqualRoom | undefined;

  /** @param left returns the bytes that the account may still use; `Infinity` without a limit */
  constructor(clock: Clock, left: () => number) {
    this.#clock = clock;
    this.#left = left;
  }

  /** Number of flows that wait. */
  get waiting(): number {
    return this.#waiters.size;
  }

  get datagrams(): EqualRoom {
    return (this.#datagrams ??= accountRoom());
  }

  /** Sets the rate in bytes per second, `undefined` for none; flows that wait go on at it. */
  setRate(rate: number | undefined): void {
    const perMs = rate === undefined ? undefined : rate / 1000;
    if (perMs !== this.#rate) {
      this.#rate = perMs;
      const share = Math.floor((perMs ?? 0) * QUANTUM_MS);
      this.#quantum = Math.min(Math.max(share, LEAST_QUANTUM), MOST_QUANTUM);
      this.#burst = Math.max((perMs ?? 0) * BURST_MS, this.#quantum);
      this.#tokens = this.#burst;
      this.#at = this.#clock.now();
    }
    this.wake();
  }

  /** Lets waiting flows go on as soon as they may: more is left, or the rate has changed. */
  wake(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#schedule();
  }

  allowance(): number {
    const left = this.#left();
    if (left <= 0) return 0;
    if (this.#rate === undefined) return left;
    if (this.#waiters.size > 0 && !this.#resuming) return 0;
    return this.#refilled() > 0 ? Math.min(left, this.#quantum) : 0;
  }

  wait(waiter: GateWaiter): void {
    this.#waiters.add(waiter);
    if (!this.#resuming) this.#schedule();
  }

  forget(waiter: GateWaiter): void {
    this.#waiters.delete(waiter);
  }

  /** Counts bytes that were moved. */
  charge(bytes: number): void {
    if (this.#rate === undefined) return;
    this.#tokens = this.#refilled() - bytes;
    this.#movedInTurn += bytes;
  }

  /** Adds the tokens of the time that has passed; returns their number. */
  #refilled(): number {
    const now = this.#clock.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * (this.#rate ?? 0));
    this.#at = now;
    return this.#tokens;
  }

  /** Starts the timer of the next waiter. Without anything left the flows of the account are being closed. */
  #schedule(): void {
    if (this.#timer || this.#waiters.size === 0 || this.#left() <= 0) return;
    this.#timer = this.#clock.after(this.#pauseMs(), this.#resume);
  }

  /** Milliseconds until there is at least a byte. */
  #pauseMs(): number {
    if (this.#rate === undefined) return 0;
    const tokens = this.#refilled();
    return tokens > 0 ? 0 : (1 - tokens) / this.#rate;
  }

  readonly #resume = (): void => {
    this.#timer = undefined;
    this.#movedInTurn = 0;
    // Each at most once: one that has to wait again is behind all others.
    let turns = Math.min(this.#waiters.size, RESUMED_A_TURN);
    try {
      for (const waiter of this.#waiters) {
        if (turns-- === 0 || this.#movedInTurn >= BYTES_A_TURN || !this.#isOpen()) break;
        this.#waiters.delete(waiter);
        this.#resuming = true;
        waiter.resume();
      }
    } finally {
      this.#resuming = false;
      this.#schedule();
    }
  };

  #isOpen(): boolean {
    return this.#left() > 0 && (this.#rate === undefined || this.#refilled() > 0);
  }
}
