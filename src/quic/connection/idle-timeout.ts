import type { Deadlines } from './deadlines.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';

/** The idle timeout is at least this many probe timeouts (RFC 9000 §10.1). */
const LEAST_PROBE_TIMEOUTS = 3;

/** Milliseconds without a packet of the peer after which memory allocated for a burst is freed. */
const PAUSE = 5000;

/** The idle timeout of a connection and the keep-alives that defer it (RFC 9000 §10.1). */
export class IdleTimeout {
  readonly #deadlines: Deadlines;
  readonly #loss: LossDetection;
  readonly #keepAlive: number;
  #timeout: number;
  /** Whether an ack-eliciting packet was sent since the last packet was received. */
  #hasSent = false;
  #receivedAt = Infinity;

  /** @param timeout milliseconds; 0 for none. @param keepAlive milliseconds; 0 for none. */
  constructor(deadlines: Deadlines, loss: LossDetection, timeout: number, keepAlive: number) {
    this.#deadlines = deadlines;
    this.#loss = loss;
    this.#timeout = timeout;
    this.#keepAlive = keepAlive;
  }

  /** Sets the peer's max_idle_timeout; the effective value is the minimum of both (§10.1). */
  setPeerTimeout(timeout: number): void {
    if (timeout === 0) return;
    this.#timeout = this.#timeout === 0 ? timeout : Math.min(this.#timeout, timeout);
  }

  /** Called when a packet was processed. */
  onReceived(now: number): void {
    this.#hasSent = false;
    if (now - this.#receivedAt >= PAUSE) this.#loss.trim(now);
    this.#receivedAt = now;
    this.#restart(now);
    if (this.#keepAlive > 0) this.#deadlines.set('keepAlive', now + this.#keepAliveInterval());
  }

  /** Called when an ack-eliciting packet was sent: the first one since a packet was received restarts the timer. */
  onSent(now: number): void {
    if (this.#hasSent) return;
    this.#hasSent = true;
    this.#restart(now);
  }

  #keepAliveInterval(): number {
    return this.#timeout === 0 ? this.#keepAlive : Math.min(this.#keepAlive, this.#timeout / 2);
  }

  #restart(now: number): void {
    if (this.#timeout === 0) return;
    const timeout = Math.max(this.#timeout, LEAST_PROBE_TIMEOUTS * this.#loss.probeTimeout());
    this.#deadlines.set('idle', now + timeout);
  }
}
