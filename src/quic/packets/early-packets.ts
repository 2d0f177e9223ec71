import type { Ecn } from '../../ip/datagram-socket.ts';
import { MAX_EARLY_BYTES, MAX_EARLY_PACKETS } from '../limits.ts';
import { copyOf } from '../../collections/copy-bytes.ts';

/** A packet that arrived before its keys were available. */
export interface EarlyPacket {
  readonly bytes: Uint8Array;
  readonly ecn: Ecn;
}

/** Packets that arrived before their keys were available (RFC 9001 §5.7), bounded. */
export class EarlyPackets {
  #packets: EarlyPacket[] = [];
  #bytes = 0;

  /** Copies a packet; returns false when there is no room for it. */
  keep(buffer: Uint8Array, start: number, end: number, ecn: Ecn): boolean {
    const size = end - start;
    if (this.#packets.length >= MAX_EARLY_PACKETS || this.#bytes + size > MAX_EARLY_BYTES) {
      return false;
    }
    this.#packets.push({ bytes: copyOf(buffer, start, end), ecn });
    this.#bytes += size;
    return true;
  }

  get isEmpty(): boolean {
    return this.#packets.length === 0;
  }

  /** Removes all packets and returns them in order; those still without keys may be kept again. */
  take(): readonly EarlyPacket[] {
    const packets = this.#packets;
    this.#packets = [];
    this.#bytes = 0;
    return packets;
  }
}
