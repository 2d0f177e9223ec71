/** The two ECN bits of a datagram (RFC 3168 §5): 0 not capable, 1 and 2 capable, 3 congestion experienced. */
export type Ecn = 0 | 1 | 2 | 3;

/**
 * An IP address and a UDP port in numbers: what the kernel takes and reports, so that a datagram
 * costs no text. A record may be reused: what it holds counts during a call alone.
 */
export interface NumericEndpoint {
  /**
   * 4 bytes of an IPv4 or 16 bytes of an IPv6 address, in network order. An IPv4 peer of a
   * dual-stack socket has 4 bytes, too.
   */
  readonly address: Uint8Array;
  readonly port: number;
  /** The interface index of a link-local IPv6 address (RFC 4007 §6); 0 where none is needed. */
  readonly scope: number;
}

/** One datagram to send, or several of one size to one peer in one buffer. */
export interface Transmit {
  readonly destination: NumericEndpoint;
  readonly data: Uint8Array;
  /** Bytes of each datagram in `data` but the last, which may be shorter. One datagram when left out. */
  readonly segmentSize?: number | undefined;
  /**
   * The own address to send from, such as the `local` of a received datagram. Left out, or where
   * the implementation has no such choice, the kernel chooses.
   */
  readonly source?: Uint8Array | undefined;
  /** Left out, or where the implementation cannot set it, 0. */
  readonly ecn?: Ecn | undefined;
}

/** One received datagram, or several of one peer behind each other; valid during the call alone. */
export interface ReceivedDatagrams {
  readonly peer: NumericEndpoint;
  readonly data: Uint8Array;
  /** Bytes of each datagram in `data` but the last, which may be shorter; 0 for an empty datagram. */
  readonly stride: number;
  /** The own address that it was sent to; `undefined` where the implementation cannot know it. */
  readonly local: Uint8Array | undefined;
  /** 0 where the implementation cannot know it. */
  readonly ecn: Ecn;
}

/** How far a call of `send` came. */
export interface SendResult {
  /** Transmits that are done with: sent, or dropped. */
  readonly done: number;
  /** Bytes of the next transmit that are done with, a multiple of its segment size. */
  readonly offset: number;
  /** Whether the socket has no room for the rest; `onWritable` is called when it has. */
  readonly full: boolean;
}

/** What a socket reports to its owner. The functions must not throw. */
export interface DatagramHandlers {
  readonly onDatagrams: (received: ReceivedDatagrams) => void;
  /** Called once after a `send` that returned `full`, when there is room again. */
  readonly onWritable?: (() => void) | undefined;
}

/**
 * A bound UDP socket that sends and receives datagrams in batches.
 *
 * The contract, checked by `test/conformance/datagram-socket.ts` for every implementation:
 *
 * - Received datagrams are passed to `onDatagrams` in order of arrival, as long as the socket is
 *   open. Nothing is queued above the kernel: a handler that needs the bytes later copies them.
 * - `send` sends transmits in order and never waits. It returns when everything was sent or dropped,
 *   or when the socket is full: the rest stays with the caller, who may pass it again with `offset`.
 *   Records and buffers may be reused as soon as it has returned.
 * - A datagram that cannot be sent (port 0, a family or an address that the socket does not reach,
 *   a size that UDP does not have, a closed socket) is dropped and counted in `dropped`; the others
 *   are sent. ICMP errors are ignored: anyone can forge them.
 * - `close` releases the socket at once. Idempotent; no handler is called afterwards.
 * - `closed` resolves, never rejects, when the socket is released: with the cause given to `close`,
 *   or with the error that closed the socket.
 */
export interface DatagramSocket {
  /** The bound address, with the port that the kernel chose. */
  readonly local: NumericEndpoint;
  /**
   * @param offset bytes of the first transmit to skip: the `offset` of the call before.
   */
  send(transmits: readonly Transmit[], offset?: number): SendResult;
  close(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  /** Datagrams that were not sent. */
  readonly dropped: number;
  /** Datagrams that the kernel dropped for want of a buffer, as far as the system reports them. */
  readonly overflowed: number;
}
