import type { Endpoint } from '../addresses/addresses.ts';
import type { EqualRoom } from '../bounds/shared-room.ts';

/**
 * A full-duplex stream of bytes between two layers.
 *
 * The contract, checked by `packages/io/test/conformance/byte-link.ts` for every implementation:
 *
 * - `read` resolves with the next chunk, which the caller then owns, or with `undefined` at the end of the stream, also
 *   when it is called again. One read may be pending at a time. Aborting `signal` rejects the read without loss of
 *   data. When the link has failed, reads return what the peer had sent before, and then reject; after `destroy` they
 *   reject at once.
 * - `unread` puts bytes back in front of the stream: the next `read` returns them. It must not be called while a read
 *   is pending.
 * - `takeAhead`, which is optional, takes a chunk that the link already holds, such as one that was put back, without
 *   the promise of a `read`; a `read` may return bytes even after `undefined`. It must not be called while a read is
 *   pending.
 * - `write` appends a chunk, which the caller must no longer change. It returns `undefined` when the caller may
 *   continue at once, or a promise that resolves when the link has drained. It rejects or throws when the link is
 *   closed for writing or has failed. `writeOutput` does the same for several chunks, with one system call where
 *   possible.
 * - With `OWNED` the memory of the chunks passes to the link, which may change it and free it once it is sent
 *   (`freeChunk`): the caller must not read it either, and nothing else may refer to it. A link that ignores this is
 *   correct.
 * - `lend` is a `write` of memory that the caller may change as soon as the call returns: it saves TLS and HTTP/2 a
 *   copy of all that they send. It is a method of its own, and optional, since a link that ignored it would send other
 *   bytes. With `MORE` another write follows soon: the bytes may be delayed for it, by a fraction of a second at most.
 *   A link that ignores this is correct.
 * - `closeWrite` half-closes the link: the peer receives everything written before, then the end of the stream, and
 *   this side may continue to read. Idempotent.
 * - `closeWith`, which is optional, is a `write` and a `closeWrite` whose bytes may travel with the end of the stream,
 *   so that the peer wakes once and not twice.
 * - `destroy` ends both directions at once, discards queued data and rejects pending operations with `cause`.
 *   Idempotent; never throws.
 * - `resetAfterData` is a `destroy` with a cause for which the peer receives everything that was written before, and
 *   then the reset: see `DelayedReset` for how long that may take. Never throws.
 * - `closed` resolves, and never rejects, when both directions have ended, the link has failed or was destroyed: with
 *   `undefined` after a clean end, with the cause otherwise. Written data may still be in flight then: a link over a
 *   protocol core lingers until the peer has acknowledged it (`PulledLink`). After a failure there may be bytes to be
 *   read, and the link must be destroyed in any case.
 */
export interface ByteLink {
  read(signal?: AbortSignal): Promise<Uint8Array | undefined>;
  unread(chunk: Uint8Array): void;
  takeAhead?(): Uint8Array | undefined;
  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined;
  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined;
  lend?(chunk: Uint8Array, more?: boolean): Promise<void> | undefined;
  closeWrite(): Promise<void>;
  closeWith?(last: Uint8Array): Promise<void>;
  destroy(cause?: Error): void;
  resetAfterData(cause: Error): void;
  readonly closed: Promise<Error | undefined>;
  /**
   * Moves everything from this link to `to` until the end of its stream, in the kernel where both are
   * its sockets. Chunks that were put back go first. Nothing else may read from this link or write to
   * the other meanwhile; the end of the stream is not passed on.
   * @returns a promise that rejects when either link fails: with a `WriteError` for the other one;
   *   `undefined` when that is not possible, and nothing has been moved.
   */
  spliceTo?(to: ByteLink, progress: SpliceProgress): Promise<void> | undefined;
}

/** Limits the bytes that several links move in one direction, such as all flows of an account. */
export interface ByteGate {
  /** The room of the datagrams that wait at it. */
  readonly datagrams: EqualRoom;
  /**
   * Returns the number of bytes that the caller may move now, a whole one or `Infinity`; 0 if it has to wait. What it has
   * moved must be counted, before anything else asks.
   */
  allowance(): number;
  /** Resumes a waiter once it may move bytes; no effect while it waits already. */
  wait(waiter: GateWaiter): void;
  /** Ends the wait of a waiter. */
  forget(waiter: GateWaiter): void;
}

/** What waits at a `ByteGate`. */
export interface GateWaiter {
  /** Asks for its allowance again, moves what it may, and counts it, all before it returns. Must not throw. */
  resume(): void;
}

/** Receives the progress of `spliceTo`. */
export interface SpliceProgress {
  /** Limits the bytes; it may appear, change and end during the transfer. */
  readonly gate?: ByteGate | undefined;
  /** Called with the number of bytes written since the last call. */
  moved(bytes: number): void;
  /** Called when the link has failed; data received before is still being moved. */
  sourceFailed(error: Error): void;
}

/** For `write` and `writeOutput`: the memory of the chunks passes to the link. */
export const OWNED = true;

/** For `lend`: another write follows soon, with which the bytes may travel. */
export const MORE = true;

/** Bytes moved on the wire below a link, including the overhead of upper layers. */
export interface WireCounter {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** An accepted or dialled link, with its wire counter and its addresses. */
export interface Carrier {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  /** The peer's address; `undefined` on a unix socket. IPv4-mapped addresses are unmapped. */
  readonly remote: Endpoint | undefined;
  /** The local address of the connection; `undefined` on a unix socket. */
  readonly local: Endpoint | undefined;
  /**
   * Set on accepted carriers: to be called when the client has authenticated, and when the carrier has ended.
   * `undefined` if nothing depends on it.
   */
  readonly onAuthenticated?: (() => void) | undefined;
  readonly onOver?: (() => void) | undefined;
}

/** One datagram: `peer` is the destination of a sent one and the source of a received one. */
export interface Packet {
  readonly data: Uint8Array;
  readonly peer: Endpoint;
}

/** The reason why datagrams to a peer cannot be sent. */
export type Unreachable = 'network unreachable' | 'host unreachable' | 'port unreachable';

/**
 * Datagrams to and from any number of peers.
 *
 * The contract, checked by `packages/io/test/conformance/packet-link.ts`:
 *
 * - `receive` resolves with packets in order of arrival, whose data the caller then owns, or with `undefined` after
 *   `close`. It rejects when the link has failed. One receive may be pending at a time.
 * - `receiveAll` replaces `receive`: it passes every packet to `take` as it arrives, queued ones first, so that a burst
 *   loses nothing to a full queue. Its promise resolves after `close`, and rejects when the link has failed or `take`
 *   has thrown; then no more is passed.
 * - `send` never waits: a datagram that cannot be queued, also on a closed link, is dropped and counted in `dropped`.
 * - The receive queue is bounded; when it is full the newest datagram is dropped and counted.
 * - `close` is idempotent. `closed` resolves, and never rejects, when the link has ended, with the cause if there was
 *   one.
 */
export interface PacketLink {
  receive(): Promise<Packet | undefined>;
  receiveAll(take: (packet: Packet) => void): Promise<void>;
  send(packet: Packet): void;
  close(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  readonly dropped: number;
  /**
   * Called for a datagram that was dropped because there is no route to its peer, or that ICMP has reported as
   * undelivered; set by the owner of a link that can detect it. It must neither throw nor send on this link.
   */
  onUnreachable?: ((peer: Endpoint, reason: Unreachable) => void) | undefined;
  /** Reports to the client, whose datagrams the link receives, that `peer` is unreachable. */
  refuse?(peer: Endpoint, reason: Unreachable): void;
}

/** The path back to the clients of a UDP listener. `closed` resolves when the listener has failed. */
export interface ReplyPath extends Pick<PacketLink, 'send' | 'closed'> {
  /** Whether the listener serves new clients, rather than only those that have an association. */
  readonly acceptsClients: boolean;
  /**
   * Keeps the path until the returned function is called: a listener that accepts no more clients releases its port
   * with the last hold.
   */
  hold(): () => void;
}
