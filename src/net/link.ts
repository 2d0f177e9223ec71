import type { Endpoint } from './address.ts';

/**
 * A full-duplex stream of bytes between two layers.
 *
 * The promise, checked by `test/conformance/byte-link.ts` for every implementation:
 *
 * - `read` gives the next chunk, `undefined` once and for ever after the peer half-closed, and
 *   rejects when the link failed or was destroyed. At most one read is pending. The chunk belongs
 *   to the reader. An aborted `signal` rejects the read without losing a byte.
 * - `unread` puts bytes back in front; the next `read` returns them. Never while a read is pending.
 * - `write` takes a chunk (which the writer must no longer change) in order. It returns `undefined`
 *   when more may follow at once, or a promise that resolves when the link has drained. It rejects
 *   or throws when the link is closed for writing or failed. `writeAll` writes several pieces of
 *   one frame with one system call where the carrier can.
 * - `give`, where there is one, writes a chunk and takes its memory as well: the chunk is spent when
 *   it returns. Only for a chunk that came from a `read` and that nobody else looks at.
 * - `closeWrite` half-closes: everything written before arrives, then the peer reads the end, and
 *   this side may go on reading. Idempotent.
 * - `destroy` ends both directions at once, drops what is queued, and rejects pending operations
 *   with `cause`. Idempotent, never throws.
 * - `closed` resolves, never rejects, when both directions have ended or the link was destroyed:
 *   `undefined` after a clean end, the cause otherwise. Its resources are released by then.
 */
export interface ByteLink {
  read(signal?: AbortSignal): Promise<Uint8Array | undefined>;
  unread(chunk: Uint8Array): void;
  write(chunk: Uint8Array): Promise<void> | undefined;
  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined;
  give?(chunk: Uint8Array): Promise<void> | undefined;
  closeWrite(): Promise<void>;
  destroy(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  /**
   * Hands the kernel socket below this link to the caller, when there is nothing but a kernel
   * socket and nothing is buffered; the link is then spent. Layered links leave it out.
   */
  release?(): ReleasedSocket | undefined;
}

/** A kernel socket that no longer belongs to Node: who holds it must close it. */
export interface ReleasedSocket {
  readonly fd: number;
}

/** Bytes moved on the wire below a link, overhead of upper layers included. */
export interface WireCounter {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** A link that an inbound's listener accepted, with what is known about its peer. */
export interface Carrier {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  /** The peer's address; `undefined` on a unix socket. IPv4-mapped addresses are unmapped. */
  readonly remote: Endpoint | undefined;
  /** The local address of the accepted connection; `undefined` on a unix socket. */
  readonly local: Endpoint | undefined;
}

/** One datagram: `peer` is its destination on the way out and its source on the way back. */
export interface Packet {
  readonly data: Uint8Array;
  readonly peer: Endpoint;
}

/**
 * Datagrams to and from any number of peers.
 *
 * The promise, checked by `test/conformance/packet-link.ts`:
 *
 * - `receive` gives packets in order of arrival, `undefined` after `close`, and rejects when the
 *   link failed. At most one receive is pending. Received data belongs to the receiver.
 * - `send` never waits: a datagram that cannot be queued is dropped and counted in `dropped`.
 *   Sending on a closed link drops.
 * - The receive queue is bounded; when it is full the newest datagram is dropped and counted.
 * - `close` is idempotent. `closed` resolves, never rejects, once the link has ended, with the
 *   cause when there was one.
 */
export interface PacketLink {
  receive(): Promise<Packet | undefined>;
  send(packet: Packet): void;
  close(cause?: Error): void;
  readonly closed: Promise<Error | undefined>;
  readonly dropped: number;
}

/** The path back to the clients of a UDP listener. Ends with the listener. */
export type ReplyPath = Pick<PacketLink, 'send' | 'closed'>;
