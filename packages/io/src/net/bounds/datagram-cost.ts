import {
  DATAGRAM_COST,
  LEAST_KEPT_BYTES,
  MAX_ALL_KEPT_BYTES,
  MAX_KEPT_BYTES,
  MAX_UNSENT_BYTES,
} from './limits.ts';
import { LEAST_UNSENT_BYTES, MAX_ALL_UNSENT_BYTES } from '../sockets/socket-limits.ts';
import type { Packet } from '../links/link.ts';

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
   *
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

/** A bound that all queues of datagrams of one kind in the process share. */
class SharedRoom {
  /** Bytes in use. */
  bytes = 0;
  readonly #most: number;
  readonly #least: number;

  /**
   * @param most total bytes of all queues.
   * @param least bytes that each queue may have beyond that, so that others cannot starve it.
   */
  constructor(most: number, least: number) {
    this.#most = most;
    this.#least = least;
  }

  /** Whether a queue of `own` bytes may add `cost`. */
  allows(own: number, cost: number): boolean {
    return this.bytes + cost <= this.#most || own + cost <= this.#least;
  }
}

/** The room of all `KeptDatagrams`. */
export const KEPT_ROOM = new SharedRoom(MAX_ALL_KEPT_BYTES, LEAST_KEPT_BYTES);

/** The room of all sockets whose send buffer in the kernel is full. */
export const UNSENT_ROOM = new SharedRoom(MAX_ALL_UNSENT_BYTES, LEAST_UNSENT_BYTES);

/** The datagrams that one association keeps until they can be sent. */
export class KeptDatagrams {
  #bytes = 0;

  /**
   * Reserves room for a packet and returns it in a form that may be kept; `undefined` when there is no
   * room. Every packet returned must be released.
   */
  keep(packet: Packet): Packet | undefined {
    const cost = costOfDatagram(packet.data.length);
    if (this.#bytes + cost > MAX_KEPT_BYTES || !KEPT_ROOM.allows(this.#bytes, cost))
      return undefined;
    this.#bytes += cost;
    KEPT_ROOM.bytes += cost;
    const data = keptData(packet.data);
    return data === packet.data ? packet : { data, peer: packet.peer };
  }

  /** Releases the room of packets that `keep` has returned. */
  release(packets: readonly Packet[]): void {
    for (const { data } of packets) {
      const cost = costOfDatagram(data.length);
      this.#bytes -= cost;
      KEPT_ROOM.bytes -= cost;
    }
  }
}
