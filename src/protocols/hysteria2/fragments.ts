import type { RandomSource } from '../../crypto/random-source.ts';
import type { UdpMessage } from './wire.ts';

/**
 * The datagrams that carry a packet, each at most `maxSize` bytes: one, or fragments under a random
 * packet id. Empty when it cannot be sent: longer than UDP_MESSAGE_LIMIT, without data, or `maxSize`
 * leaves no room.
 */
export declare function datagramsOf(
  packet: { readonly sessionId: number; readonly address: string; readonly data: Uint8Array },
  maxSize: number,
  random: RandomSource,
): Uint8Array[];

/** Joins the fragments of one session: of its newest message, as the reference does. */
export declare class Reassembly {
  /**
   * Takes a message or a fragment, whose bytes it may keep.
   * @returns a complete message, `undefined` while fragments are missing or when it was dropped.
   */
  add(message: UdpMessage): UdpMessage | undefined;
}
