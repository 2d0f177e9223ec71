import type { RandomSource } from '@weir/base/random';
import { ADDRESS_LIMIT, FRAGMENT_LIMIT, UDP_PAYLOAD_LIMIT } from '../limits.ts';
import { encodeUdpMessage, udpHeaderSize, type UdpMessage } from '../wire.ts';

/** A packet to send. */
export interface OutgoingPacket {
  readonly sessionId: number;
  /** The address as `host:port` in UTF-8. */
  readonly address: Uint8Array;
  readonly data: Uint8Array;
}

/** Packet ids have 16 bits; 0 is the id of whole messages. */
const PACKET_IDS = 0xffff;

/**
 * Returns the datagrams that carry a packet, each of at most `maxSize` bytes: one, or fragments under a random packet
 * id. Empty when the packet cannot be sent: without data, with more than UDP_PAYLOAD_LIMIT, or when `maxSize` leaves no
 * room.
 */
export function datagramsOf(
  { sessionId, address, data }: OutgoingPacket,
  maxSize: number,
  random: RandomSource,
): Uint8Array[] {
  if (data.length === 0 || data.length > UDP_PAYLOAD_LIMIT) return [];
  if (address.length === 0 || address.length > ADDRESS_LIMIT) return [];
  const room = maxSize - udpHeaderSize(address.length);
  if (room <= 0) return [];
  const fragmentCount = Math.ceil(data.length / room);
  if (fragmentCount > FRAGMENT_LIMIT) return [];
  if (fragmentCount === 1) {
    const whole = { sessionId, packetId: 0, fragmentId: 0, fragmentCount, address, data };
    return [encodeUdpMessage(whole)];
  }
  const packetId = 1 + random.below(PACKET_IDS);
  const datagrams: Uint8Array[] = [];
  for (let fragmentId = 0; fragmentId < fragmentCount; fragmentId++) {
    const part = data.subarray(fragmentId * room, (fragmentId + 1) * room);
    datagrams.push(
      encodeUdpMessage({ sessionId, packetId, fragmentId, fragmentCount, address, data: part }),
    );
  }
  return datagrams;
}

/**
 * Reassembles the messages of one session. As in the reference, only one is held: a fragment of
 * another message discards it. Holds at most UDP_PAYLOAD_LIMIT bytes.
 */
export class MessageReassembly {
  #packetId = 0;
  #parts: (Uint8Array | undefined)[] = [];
  #received = 0;
  #size = 0;

  /**
   * Takes a message or a fragment; fragments are copied.
   * @returns a complete message, `undefined` while fragments are missing or when it was dropped.
   */
  add(message: UdpMessage): UdpMessage | undefined {
    const { packetId, fragmentId, fragmentCount, data } = message;
    if (fragmentCount <= 1) return data.length > UDP_PAYLOAD_LIMIT ? undefined : message;
    if (fragmentId >= fragmentCount) return undefined;
    if (packetId !== this.#packetId || fragmentCount !== this.#parts.length) {
      this.#begin(packetId, fragmentCount);
    }
    if (this.#parts[fragmentId] !== undefined) return undefined;
    this.#size += data.length;
    if (this.#size > UDP_PAYLOAD_LIMIT) {
      this.#begin(0, 0);
      return undefined;
    }
    // A copy: a view would keep the whole datagram alive, and `slice` of a Buffer returns a view.
    this.#parts[fragmentId] = new Uint8Array(data);
    if (++this.#received < fragmentCount) return undefined;
    const whole = Buffer.concat(this.#parts.filter((part) => part !== undefined));
    this.#begin(0, 0);
    return { ...message, fragmentId: 0, fragmentCount: 1, data: whole };
  }

  #begin(packetId: number, fragmentCount: number): void {
    this.#packetId = packetId;
    this.#parts = Array.from({ length: fragmentCount }, () => undefined);
    this.#received = 0;
    this.#size = 0;
  }
}
