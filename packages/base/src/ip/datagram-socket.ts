import type { IpEndpoint } from './ip-endpoint.ts';

/** The two ECN bits of a datagram (RFC 3168 §5): 0 not capable, 1 and 2 capable, 3 congestion experienced. */
export type Ecn = 0 | 1 | 2 | 3;

/**
 * One datagram to send, or several of one size to one peer, stored one after another: a part of a
 * buffer, which many transmits may share. Records and buffers may be reused when `send` is done with
 * them.
 */
export interface Transmit {
  readonly destination: IpEndpoint;
  readonly buffer: Uint8Array;
  /** Offset in `buffer` at which the bytes begin. */
  readonly offset: number;
  /** Number of bytes in `buffer`. */
  readonly length: number;
  /** Bytes of each datagram but the last, which may be shorter; 0 for one datagram of any length. */
  readonly segmentSize: number;
  /**
   * The own address to send from, such as `own` of a received datagram; its port is ignored. The kernel
   * chooses for `undefined`, and if the implementation does not support this.
   */
  readonly source: IpEndpoint | undefined;
  /** The ECN bits; sent as 0 if the implementation cannot set them. */
  readonly ecn: Ecn;
}

/**
 * One received datagram, or several of one peer, stored one after another. The record and everything in
 * it are reused for the next one: they are valid only during the call.
 */
export interface ReceivedDatagrams {
  readonly peer: IpEndpoint;
  readonly buffer: Uint8Array;
  /** Offset in `buffer` at which the bytes begin. */
  readonly offset: number;
  /** Number of bytes in `buffer`; 0 is an empty datagram. */
  readonly length: number;
  /** Bytes of each datagram but the last, which may be shorter; `length` for a single one. */
  readonly stride: number;
  /**
   * The own address that it was sent to, with the port of the socket and the interface of a
   * link-local address; `undefined` if the implementation does not report it.
   */
  readonly own: IpEndpoint | undefined;
  /** The received ECN bits; 0 if the implementation does not report them. */
  readonly ecn: Ecn;
}

/** How much a call of `send` has processed. The next call, of any socket, may change this record. */
export interface SendResult {
  /** Number of transmits that are finished: sent, or dropped. */
  readonly done: number;
  /** Finished bytes of the next transmit, a multiple of its segment size. */
  readonly sentBytes: number;
  /** Whether the send buffer of the socket has no room for the rest. */
  readonly full: boolean;
  /**
   * Transmits of this call that hold a datagram larger than the path takes (EMSGSIZE), which was
   * dropped: their number, and the index of the first; -1 for none.
   */
  readonly tooLarge: number;
  readonly firstTooLarge: number;
}

/** Options of a new datagram socket. */
export interface DatagramSocketOptions {
  /**
   * The own address, and a port or 0 for the kernel to choose. The IPv6 wildcard `::` is dual
   * stack: it reaches and is reached by IPv4 peers as well.
   */
  readonly local: IpEndpoint;
  /**
   * The one peer: datagrams of others do not arrive, and an error that its host reports (ECONNREFUSED)
   * ends the socket.
   */
  readonly remote?: IpEndpoint | undefined;
  /** Buffers requested of the kernel in each direction, in bytes; its limits apply. */
  readonly receiveBuffer?: number | undefined;
  readonly sendBuffer?: number | undefined;
  /** Whether `own` and `ecn` of received datagrams are needed; both cost a little. */
  readonly details?: boolean | undefined;
  /** Whether datagrams of one peer may be received as one record with a stride (UDP GRO). */
  readonly coalesce?: boolean | undefined;
  /**
   * Whether datagrams are never fragmented, neither here nor on the path, and ICMP messages about the path MTU are
   * ignored: path MTU discovery needs both (RFC 8899 §3, RFC 9000 §14).
   */
  readonly dontFragment?: boolean | undefined;
}

/** The features of an implementation on this system, and what happens without each. */
export interface DatagramFeatures {
  /** Transmits with a segment size are sent with one call (UDP GSO); otherwise datagram by datagram. */
  readonly segmentation: boolean;
  /** Datagrams may arrive coalesced (UDP GRO); otherwise `stride` is always `length`. */
  readonly coalescing: boolean;
  /** `own` is reported and `source` is used on every socket; otherwise `own` only of a socket bound to one address. */
  readonly ownAddress: boolean;
  /** ECN bits are sent and received; otherwise they are 0. */
  readonly ecn: boolean;
  /** DF is set; otherwise datagrams beyond the MTU are fragmented, and path MTU discovery is impossible. */
  readonly dontFragment: boolean;
  /** `overflowed` counts; otherwise it stays 0. */
  readonly overflow: boolean;
}

/** The part of the path that a datagram failed to reach, as ICMP reports it. */
export type UnreachablePart = 'network' | 'host' | 'port';

/** Events that a socket reports to its owner. The functions must not throw. */
export interface DatagramHandlers {
  readonly onDatagrams: (received: ReceivedDatagrams) => void;
  /** All available datagrams have been passed on: responses to them can be sent together. */
  readonly onDrained?: (() => void) | undefined;
  /** Called once after a `send` that returned `full`, when there is room again. */
  readonly onWritable?: (() => void) | undefined;
  /**
   * Called during a `send` for a datagram that was dropped because this host has no route to its
   * destination, if the implementation detects it, and after `reportErrors` for one that ICMP has reported;
   * nothing may be sent during the call.
   */
  readonly onUnreachable?: ((destination: IpEndpoint, what: UnreachablePart) => void) | undefined;
}

/** Opens a datagram socket: `systemSockets().bindDatagrams`, or the simulated network of a test. */
export type BindDatagrams = (
  options: DatagramSocketOptions,
  handlers: DatagramHandlers,
) => Promise<DatagramSocket>;

/**
 * A bound UDP socket that sends and receives datagrams in batches.
 *
 * The contract, checked by `packages/io/test/conformance/datagram-socket.ts` for every implementation:
 *
 * - Received datagrams are passed to `onDatagrams` in order of arrival, as long as the socket is open, and `onDrained`
 *   is called after each batch. Nothing is queued above the kernel, and the record is reused: a handler copies what it
 *   keeps.
 * - `send` sends transmits in order and never waits. It returns when everything was sent or dropped, or when the socket
 *   is full: the rest stays with the caller, who passes it again from the first unfinished transmit, and its
 *   `sentBytes`. Records and buffers may be reused once they are finished. It may be called from every handler.
 * - A datagram that cannot be sent (port 0, a family or an address that the socket does not reach, a size that UDP does
 *   not have, a closed socket) is dropped and counted in `dropped`; the others are sent. One beyond the path MTU is
 *   also reported by `tooLarge`. ICMP errors are ignored: anyone can forge them.
 * - `close` releases the socket at once. Idempotent; no handler is called afterwards.
 * - `closed` resolves, never rejects, when the socket is released: with the cause given to `close`, or with the error
 *   that closed the socket.
 */
export interface DatagramSocket {
  /** The bound address, with the port that the kernel chose. */
  readonly local: IpEndpoint;
  /** The features available; `segmentation` becomes false if the first send with it fails. */
  readonly features: DatagramFeatures;
  /**
   * @param count how many of `transmits` to send; by default all.
   * @param sentBytes bytes of the first transmit to skip, as an earlier call returned them.
   */
  send(transmits: readonly Transmit[], count?: number, sentBytes?: number): SendResult;
  close(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  /** Datagrams that were not sent. */
  readonly dropped: number;
  /** Datagrams that the kernel dropped because its receive buffer was full, if the system reports them. */
  readonly overflowed: number;
}
