import type { NamedDeadlines } from '@weir/base/timers';

/** The states of RFC 9293 §3.3.2. */
export type TcpState =
  | 'LISTEN'
  | 'SYN-SENT'
  | 'SYN-RECEIVED'
  | 'ESTABLISHED'
  | 'FIN-WAIT-1'
  | 'FIN-WAIT-2'
  | 'CLOSE-WAIT'
  | 'CLOSING'
  | 'LAST-ACK'
  | 'TIME-WAIT'
  | 'CLOSED';

const NEXT: Readonly<Record<TcpState, readonly TcpState[]>> = {
  LISTEN: ['SYN-RECEIVED', 'CLOSED'],
  'SYN-SENT': ['SYN-RECEIVED', 'ESTABLISHED', 'CLOSED'],
  'SYN-RECEIVED': ['ESTABLISHED', 'FIN-WAIT-1', 'CLOSED'],
  ESTABLISHED: ['FIN-WAIT-1', 'CLOSE-WAIT', 'CLOSED'],
  'FIN-WAIT-1': ['FIN-WAIT-2', 'CLOSING', 'TIME-WAIT', 'CLOSED'],
  'FIN-WAIT-2': ['TIME-WAIT', 'CLOSED'],
  'CLOSE-WAIT': ['LAST-ACK', 'CLOSED'],
  CLOSING: ['TIME-WAIT', 'CLOSED'],
  'LAST-ACK': ['CLOSED'],
  'TIME-WAIT': ['CLOSED'],
  CLOSED: [],
};

/** Whether RFC 9293 §3.3.2 (figure 5) has this transition. */
export const mayGo = (from: TcpState, to: TcpState): boolean => NEXT[from].includes(to);

/** The reason why a connection ended before both directions were closed. */
export type TcpFailure =
  /** A RST of the peer before the connection was established: the peer refuses the connection, or withdraws its SYN. */
  | 'refused'
  /** A valid RST of the peer after the connection was established. */
  | 'reset'
  /** The peer did not respond to a handshake, data or keep-alive probes within their time limits. */
  | 'timeout'
  /** ICMP reported the destination unreachable while connecting. */
  | 'unreachable'
  /** This side ended the connection: `abort`, or `refuse`. */
  | 'aborted';

/** An event of a connection. Reported once, however often it was raised since the last report. */
export type TcpEvent =
  /** A passive connection received a SYN. `accept` or `refuse` must follow. */
  | 'requested'
  /** The handshake is complete. */
  | 'established'
  /** `read` would return bytes. */
  | 'readable'
  /** Everything up to the peer's FIN has arrived: the end of stream follows the last chunk of `read`. */
  | 'end'
  /** `write` may be called again after it returned false. */
  | 'writable'
  /** The peer has acknowledged everything, including the FIN of this side. */
  | 'finished'
  /** The connection has failed: see `failure`. `closed` follows. */
  | 'failed'
  /**
   * The last event: nothing more is sent. Received data may still be read. A connection in TIME-WAIT is
   * replaced by its `timeWait`.
   */
  | 'closed';

/** Events in the order in which they are reported. */
const ORDER: readonly TcpEvent[] = [
  'requested',
  'established',
  'readable',
  'end',
  'writable',
  'finished',
  'failed',
  'closed',
];

const bitOf = (event: TcpEvent): number => 1 << ORDER.indexOf(event);

const BITS: Readonly<Record<TcpEvent, number>> = {
  requested: bitOf('requested'),
  established: bitOf('established'),
  readable: bitOf('readable'),
  end: bitOf('end'),
  writable: bitOf('writable'),
  finished: bitOf('finished'),
  failed: bitOf('failed'),
  closed: bitOf('closed'),
};

/** Events that were raised and not reported yet. */
export class EventFlags {
  #bits = 0;

  raise(event: TcpEvent): void {
    this.#bits |= BITS[event];
  }

  /**
   * Returns the next event.
   * @param withClosed false defers 'closed'.
   */
  next(withClosed: boolean): TcpEvent | undefined {
    const bits = withClosed ? this.#bits : this.#bits & ~BITS.closed;
    if (bits === 0) return undefined;
    const index = 31 - Math.clz32(bits & -bits);
    this.#bits &= ~(1 << index);
    return ORDER[index];
  }
}

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
