import type { Deadlines } from './deadlines.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';

/** Probe timeouts that an idle timeout lasts at least (RFC 9000 §10.1). */
const LEAST_PROBE_TIMEOUTS = 3;

/** Milliseconds without a packet of the peer after which the memory of a burst is not kept for another. */
const PAUSE = 5000;

/** The idle timeout of a connection, and what is sent so that it does not expire (RFC 9000 §10.1). */
export class IdleTimeout {
  readonly #deadlines: Deadlines;
  readonly #loss: LossDetection;
  readonly #keepAlive: number;
  #timeout: number;
  /** Whether something was sent that the peer has to acknowledge, since the last packet came. */
  #hasSent = false;
  #receivedAt = Infinity;

  /** @param timeout milliseconds; 0 for none. @param keepAlive milliseconds; 0 for none. */
  constructor(deadlines: Deadlines, loss: LossDetection, timeout: number, keepAlive: number) {
    this.#deadlines = deadlines;
    this.#loss = loss;
    this.#timeout = timeout;
    this.#keepAlive = keepAlive;
  }

  /** The peer's max_idle_timeout: the smaller one of both counts. */
  setPeerTimeout(timeout: number): void {
    if (timeout === 0) return;
    this.#timeout = this.#timeout === 0 ? timeout : Math.min(this.#timeout, timeout);
  }

  /** A packet was processed. */
  onReceived(now: number): void {
    this.#hasSent = false;
    if (now - this.#receivedAt >= PAUSE) this.#loss.trim(now);
    this.#receivedAt = now;
    this.#restart(now);
    if (this.#keepAlive > 0) this.#deadlines.set('keepAlive', now + this.#keepAliveInterval);
  }

  /** An ack-eliciting packet was sent. */
  onSent(now: number): void {
    if (this.#hasSent) return;
    this.#hasSent = true;
    this.#restart(now);
  }

  get #keepAliveInterval(): number {
    return this.#timeout === 0 ? this.#keepAlive : Math.min(this.#keepAlive, this.#timeout / 2);
  }

  #restart(now: number): void {
    if (this.#timeout === 0) return;
    const timeout = Math.max(this.#timeout, LEAST_PROBE_TIMEOUTS * this.#loss.probeTimeout());
    this.#deadlines.set('idle', now + timeout);
  }
}
