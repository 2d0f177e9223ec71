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

/** Whether a connection may go from one state to another. */
export const isTransition = (from: ConnectionState, to: ConnectionState): boolean =>
  NEXT[from].includes(to);

/** Whether frames are exchanged: neither side has closed. */
export const isOpen = (state: ConnectionState): boolean =>
  state === 'handshaking' || state === 'established' || state === 'confirmed';
