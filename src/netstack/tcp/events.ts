/** Why a connection ended before both directions were closed. */
export type TcpFailure =
  /** A RST of the peer before the connection was established: it refuses (or takes back) the connection. */
  | 'refused'
  /** A valid RST of the peer afterwards. */
  | 'reset'
  /** The peer did not answer for as long as a handshake, data or keep-alive probes wait. */
  | 'timeout'
  /** ICMP reported the destination unreachable while connecting. */
  | 'unreachable'
  /** This side ended it: `abort` or `refuse`. */
  | 'aborted';

/** What happened on a connection; each is reported once for all times that it happened since. */
export type TcpEvent =
  /** Passive: a valid SYN arrived, and `accept` or `refuse` is awaited. */
  | 'requested'
  /** The handshake is complete: the first bytes may have been written before. */
  | 'established'
  /** `read` returns something. */
  | 'readable'
  /** Everything up to the peer's FIN arrived: after the last chunk of `read` there is the end of stream. */
  | 'end'
  /** `write` takes more after it had returned false. */
  | 'writable'
  /** Every byte and the FIN of this side are acknowledged. */
  | 'finished'
  /** The connection failed: `failure` has the reason. Followed by `closed`. */
  | 'failed'
  /**
   * The last event: no segment leaves any more but a RST that `transmit` still returns. A connection that
   * goes through TIME-WAIT leaves `timeWait` for the table that answers from now on.
   */
  | 'closed';
