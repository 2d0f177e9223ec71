import type { Packet } from '../links/link.ts';
import { EqualRoom, SharedRoom } from './shared-room.ts';

/** Bounds of queues in links and in frame decoders, and of datagram sockets. */

/**
 * Memory of a queued datagram beside its data, in bytes: the objects of the packet, of its header and
 * of the queues below. Measured for an empty datagram: 270 to 600 bytes. Without it a bound in bytes would
 * not bound empty datagrams at all, and would be 600 times too large for those of one byte.
 */
export const DATAGRAM_COST = 640;

/**
 * Memory of datagrams queued by a full carrier, in bytes with DATAGRAM_COST each: some 180
 * datagrams of 800 bytes, and 400 empty ones. At the bound the newest are dropped.
 */
export const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Memory of datagrams that one association keeps until an outbound is dialled, a stream is open or a
 * name is resolved, in bytes with DATAGRAM_COST each. At the bound the newest are dropped.
 */
export const MAX_KEPT_BYTES = 256 * 1024;

/**
 * MAX_KEPT_BYTES for all associations together. Beyond this bound each still keeps LEAST_KEPT_BYTES, the first
 * datagrams of a conversation, so that a client with thousands of associations to a silent upstream does not starve
 * others.
 */
export const MAX_ALL_KEPT_BYTES = 64 * 1024 * 1024;
const LEAST_KEPT_BYTES = 4096;

/**
 * Memory of the datagrams that wait for the rate of one account, over all of its associations: it is full for as long as
 * clients send more than the rate. Beyond it each association has LEAST_KEPT_BYTES.
 */
const MAX_ACCOUNT_BYTES = 1024 * 1024;

/** Memory of a chunk queued in a memory link beside its data, in bytes: its objects and its buffer. */
export const CHUNK_COST = 256;

/** Bounds of every kind of socket, Node's and the kernel's alike. */

/** Milliseconds that a peer may take to end its side after the link was destroyed. */
export const SOCKET_LINGER_MS = 5_000;
/** Bytes that a peer may send after the link was destroyed. */
export const SOCKET_LINGER_BYTES = 1 << 20;

/**
 * The receive buffer requested of the kernel, in bytes: a burst of several hundred full datagrams while
 * the event loop is busy. The send buffer is not changed: a larger one would only add delay.
 */
export const UDP_RECEIVE_BUFFER = 1024 * 1024;

/** Datagrams of one socket that may be queued while the kernel's buffer is full. */
export const MAX_UNSENT = 256;
/**
 * Memory in bytes of a socket's queued datagrams, with DATAGRAM_COST each: twice that of 256 datagrams of a usual size.
 * At the bound the newest are dropped.
 */
export const MAX_UNSENT_OF_SOCKET = 1024 * 1024;
/**
 * Memory in bytes of the queued datagrams of all sockets of a thread, which share one uplink. Beyond this bound each
 * socket still has LEAST_UNSENT_BYTES, a few datagrams of a usual size.
 */
export const MAX_ALL_UNSENT_BYTES = 64 * 1024 * 1024;
export const LEAST_UNSENT_BYTES = 16 * 1024;

/** The largest UDP payload over IPv4 (RFC 768) and IPv6 (RFC 8200), without jumbograms. */
export const MAX_UDP_PAYLOAD = { 4: 65_507, 6: 65_527 } as const;

/** Returns the memory of a queued datagram of `length` bytes, in bytes. */
export const costOfDatagram = (length: number): number => length + DATAGRAM_COST;

/**
 * Returns the data of a datagram that is to be queued: copied when it is a small part of the chunk in which it
 * was received, which would otherwise be kept as a whole and is not counted.
 */
export function keptData(data: Uint8Array): Uint8Array {
  if (data.length + DATAGRAM_COST >= data.buffer.byteLength) return data;
  // Not from Node's pool, which would be kept as a whole as well.
  const copy = Buffer.allocUnsafeSlow(data.length);
  copy.set(data);
  return copy;
}

/** Datagrams queued by a full carrier; at the bound the next ones are dropped. */
export class UnsentDatagrams {
  readonly #onFailed: (error: unknown) => void;
  #bytes = 0;
  #waits = false;

  /** @param onFailed called with the error of the carrier if it fails while datagrams are queued. */
  constructor(onFailed: (error: unknown) => void) {
    this.#onFailed = onFailed;
  }

  get hasRoom(): boolean {
    return this.#bytes < MAX_UNSENT_BYTES;
  }

  /**
   * Adds a datagram.
   * @param drained the promise of its write, which resolves when the carrier accepts more.
   */
  add(length: number, drained: Promise<void>): void {
    this.#bytes += costOfDatagram(length);
    if (this.#waits) {
      // The wait under way handles the failure; this rejection must not be unhandled.
      drained.catch(ignore);
      return;
    }
    this.#waits = true;
    drained.then(this.#onDrained, this.#onFailed);
  }

  readonly #onDrained = (): void => {
    this.#waits = false;
    this.#bytes = 0;
  };
}

const ignore = (): void => undefined;

/** The room of all `KeptDatagrams`. */
export const KEPT_ROOM = new SharedRoom(MAX_ALL_KEPT_BYTES, LEAST_KEPT_BYTES);

/** The room of all sockets whose send buffer in the kernel is full. */
export const UNSENT_ROOM = new SharedRoom(MAX_ALL_UNSENT_BYTES, LEAST_UNSENT_BYTES);

/** Returns the room of the datagrams of one account, see MAX_ACCOUNT_BYTES. */
export const accountRoom = (): EqualRoom => new EqualRoom(MAX_ACCOUNT_BYTES, LEAST_KEPT_BYTES);

/** The datagrams that one association keeps until they can be sent. */
export class KeptDatagrams {
  #bytes = 0;
  /** The room that it shares with others, beside that of all. */
  readonly #shared: EqualRoom | undefined;

  constructor(shared?: EqualRoom) {
    this.#shared = shared;
  }

  /**
   * Reserves room for a packet and returns it in a form that may be kept; `undefined` when there is no
   * room. Every packet returned must be released.
   */
  keep(packet: Packet): Packet | undefined {
    const cost = costOfDatagram(packet.data.length);
    if (this.#bytes + cost > MAX_KEPT_BYTES || !KEPT_ROOM.allows(this.#bytes, cost))
      return undefined;
    if (this.#shared?.allows(this.#bytes, cost) === false) return undefined;
    this.#add(cost);
    const data = keptData(packet.data);
    return data === packet.data ? packet : { data, peer: packet.peer };
  }

  /** Releases the room of packets that `keep` has returned. */
  release(packets: readonly Packet[]): void {
    for (const { data } of packets) {
      this.#add(-costOfDatagram(data.length));
    }
  }

  #add(cost: number): void {
    const wasEmpty = this.#bytes === 0;
    this.#bytes += cost;
    KEPT_ROOM.bytes += cost;
    const isEmpty = this.#bytes === 0;
    if (this.#shared && wasEmpty !== isEmpty) this.#shared.queues += isEmpty ? -1 : 1;
  }
}
