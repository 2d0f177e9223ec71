import type { NamedDeadlines } from '@weir/base/timers';
import type { LossDetection } from '../recovery/loss-detection.ts';

/**
 * The states of a connection, in order.
 *
 * - `handshaking`: the TLS handshake is not complete.
 * - `established`: the handshake is complete (RFC 9001 §4.1.1), but not confirmed.
 * - `confirmed`: the handshake is confirmed (§4.1.2).
 * - `closing`: this side has sent CONNECTION_CLOSE, and repeats it in response to packets (RFC 9000 §10.2.1).
 * - `draining`: the peer has sent CONNECTION_CLOSE; nothing is sent any more (§10.2.2).
 * - `closed`: the closing or draining state is over.
 */
export type LifecycleState =
  | 'handshaking'
  | 'established'
  | 'confirmed'
  | 'closing'
  | 'draining'
  | 'closed';

const NEXT: Readonly<Record<LifecycleState, readonly LifecycleState[]>> = {
  handshaking: ['established', 'closing', 'draining', 'closed'],
  established: ['confirmed', 'closing', 'draining', 'closed'],
  confirmed: ['closing', 'draining', 'closed'],
  closing: ['draining', 'closed'],
  draining: ['closed'],
  closed: [],
};

type TransitionListener = (from: LifecycleState, to: LifecycleState, now: number) => void;

/** The state of a connection, with the transitions that it may make. */
export class Lifecycle {
  readonly #onTransition: TransitionListener | undefined;
  #state: LifecycleState = 'handshaking';

  /** @param onTransition called after each transition, for a trace. */
  constructor(onTransition?: TransitionListener) {
    this.#onTransition = onTransition;
  }

  get state(): LifecycleState {
    return this.#state;
  }

  /** Whether neither side has closed the connection, so that frames are exchanged. */
  get isOpen(): boolean {
    return (
      this.#state === 'handshaking' || this.#state === 'established' || this.#state === 'confirmed'
    );
  }

  /** Whether streams may be used: the handshake is complete, and neither side has closed the connection. */
  get isEstablished(): boolean {
    return this.#state === 'established' || this.#state === 'confirmed';
  }

  get isConfirmed(): boolean {
    return this.#state === 'confirmed';
  }

  /** Changes to another state; returns false when the current one has no such transition. */
  go(to: LifecycleState, now: number): boolean {
    const from = this.#state;
    if (!NEXT[from].includes(to)) return false;
    this.#state = to;
    this.#onTransition?.(from, to, now);
    return true;
  }
}

/** The deadlines of the connection itself; those of its parts are kept by the parts. */
export const CONNECTION_DEADLINES = ['handshake', 'idle', 'keepAlive', 'pacing', 'close'] as const;

type ConnectionDeadline = (typeof CONNECTION_DEADLINES)[number];

export type Deadlines = NamedDeadlines<ConnectionDeadline>;

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
