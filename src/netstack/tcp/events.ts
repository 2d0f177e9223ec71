/** The reason why a connection ended before both directions were closed. */
export type TcpFailure =
  /** A RST of the peer before the connection was established: the peer refuses the connection, or withdraws its SYN. */
  | 'refused'
  /** A valid RST of the peer after the connection was established. */
  | 'reset'
  /** The peer did not answer a handshake, data or keep-alive probes within their time limits. */
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
