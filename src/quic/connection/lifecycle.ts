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
