/** Why a connection ended before both directions were closed. */
export type TcpFailure =
  /** A RST of the peer before the connection was established: it refuses, or takes back, the connection. */
  | 'refused'
  /** A valid RST of the peer afterwards. */
  | 'reset'
  /** The peer did not answer for as long as a handshake, data or keep-alive probes wait. */
  | 'timeout'
  /** ICMP reported the destination unreachable while connecting. */
  | 'unreachable'
  /** This side ended it: `abort`, or `refuse`. */
  | 'aborted';

/** What happened on a connection: reported once, however often it happened since the last time. */
export type TcpEvent =
  /** Passive: a SYN arrived, and `accept` or `refuse` is awaited. */
  | 'requested'
  /** The handshake is complete. */
  | 'established'
  /** `read` returns something. */
  | 'readable'
  /** The peer's FIN was reached: after the last chunk of `read` there is the end of stream. */
  | 'end'
  /** `write` takes more, after it had returned false. */
  | 'writable'
  /** The peer has acknowledged everything, the FIN of this side included. */
  | 'finished'
  /** The connection has failed: `failure` has the reason. `closed` follows. */
  | 'failed'
  /**
   * The last event: nothing leaves any more, but for a RST that `transmit` has yet to write. What was
   * received may still be read. A connection in TIME-WAIT has left `timeWait`, to be kept in its place.
   */
  | 'closed';

/** In the order in which they are reported. */
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

/** Events that happened and were not reported yet. */
export class EventFlags {
  #bits = 0;

  raise(event: TcpEvent): void {
    this.#bits |= BITS[event];
  }

  /** @param withClosed false: 'closed' has to wait. */
  next(withClosed: boolean): TcpEvent | undefined {
    const bits = withClosed ? this.#bits : this.#bits & ~BITS.closed;
    if (bits === 0) return undefined;
    const index = 31 - Math.clz32(bits & -bits);
    this.#bits &= ~(1 << index);
    return ORDER[index];
  }
}
