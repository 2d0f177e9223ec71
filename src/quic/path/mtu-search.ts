/** The search for the largest datagram that a path takes (DPLPMTUD: RFC 8899, RFC 9000 §14.3). */
export declare class MtuSearch {
  /**
   * @param base bytes of UDP payload that every path takes: 1,200.
   * @param most bytes of UDP payload to search up to: what the interface and the peer's max_udp_payload_size allow.
   */
  constructor(options: { readonly base?: number; readonly most: number });
  /** Bytes of UDP payload that a datagram may have now. */
  readonly current: number;
  /** The upper end, once it is known better. */
  setMost(bytes: number): void;
  /** The size of a probe to send now; 0 for none. Not before the handshake is confirmed, and only with room in the window. */
  probeSize(now: number): number;
  onProbeSent(size: number, now: number): void;
  /** Returns whether `current` changed. */
  onProbeAcknowledged(size: number, now: number): boolean;
  onProbeLost(size: number, now: number): void;
  /** A packet of this size, no probe, arrived. */
  onAcknowledged(bytes: number): void;
  /** A packet of this size, no probe, was lost. Returns whether `current` changed: a black hole (RFC 8899 §4.3). */
  onLost(bytes: number, now: number): boolean;
  /** The system refused a datagram of this size (EMSGSIZE). Returns whether `current` changed. */
  onTooLarge(bytes: number, now: number): boolean;
  /** When a new search begins; Infinity for not at all. */
  readonly timeout: number;
}
