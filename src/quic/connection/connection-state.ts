import type { Trace } from '../trace.ts';

/**
 * The states of a connection, in their order.
 *
 * - `handshaking`: TLS is not complete.
 * - `established`: the handshake is complete here (RFC 9001 §4.1.1), not yet confirmed.
 * - `confirmed`: both sides know it (§4.1.2).
 * - `closing`: this side has sent CONNECTION_CLOSE, and answers packets with it (RFC 9000 §10.2.1).
 * - `draining`: the peer has closed; nothing is sent any more (§10.2.2).
 * - `closed`: nothing is left.
 */
export type ConnectionState =
  | 'handshaking'
  | 'established'
  | 'confirmed'
  | 'closing'
  | 'draining'
  | 'closed';

const NEXT: Readonly<Record<ConnectionState, readonly ConnectionState[]>> = {
  handshaking: ['established', 'closing', 'draining', 'closed'],
  established: ['confirmed', 'closing', 'draining', 'closed'],
  confirmed: ['closing', 'draining', 'closed'],
  closing: ['draining', 'closed'],
  draining: ['closed'],
  closed: [],
};

/** The state of a connection, with the transitions that it may make. */
export class Lifecycle {
  readonly #trace: Trace | undefined;
  #state: ConnectionState = 'handshaking';

  constructor(trace: Trace | undefined) {
    this.#trace = trace;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Whether neither side has closed: frames are exchanged. */
  get isOpen(): boolean {
    return (
      this.#state === 'handshaking' || this.#state === 'established' || this.#state === 'confirmed'
    );
  }

  /** Whether streams may be used: the handshake is complete, and neither side has closed. */
  get isEstablished(): boolean {
    return this.#state === 'established' || this.#state === 'confirmed';
  }

  get isConfirmed(): boolean {
    return this.#state === 'confirmed';
  }

  /** Goes to another state; false when that is not possible from the present one. */
  go(to: ConnectionState, now: number): boolean {
    const from = this.#state;
    if (!NEXT[from].includes(to)) return false;
    this.#state = to;
    if (this.#trace !== undefined) this.#trace({ kind: 'state', from, to }, now);
    return true;
  }
}
