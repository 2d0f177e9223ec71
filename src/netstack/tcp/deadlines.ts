import type { NamedDeadlines } from '../../collections/named-deadlines.ts';

/** The deadlines of the connection itself; retransmission of data has its own (`Recovery`). */
export const TCP_DEADLINES = [
  /** The next SYN or SYN-ACK is due (RFC 9293 §3.8.1, RFC 6298). */
  'handshake',
  /** A delayed ACK is due (RFC 9293 §3.8.6.3). */
  'acknowledgment',
  /** A zero window has to be probed (§3.8.6.1). */
  'persist',
  /** The peer was silent (§3.8.4). */
  'keepAlive',
  /** The user timeout (§3.8.3), of a handshake or of unacknowledged data. */
  'user',
  /** The end of FIN-WAIT-2 after all data was read, or of TIME-WAIT. */
  'close',
] as const;

type TcpDeadline = (typeof TCP_DEADLINES)[number];

export type Deadlines = NamedDeadlines<TcpDeadline>;
