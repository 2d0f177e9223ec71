import { hash } from 'node:crypto';
import type { RandomSource } from '../../crypto/random-source.ts';
import { Opcode, wholeFrame } from './frames.ts';

/**
 * How two Weirs agree that each ends its side by a Close frame and continues to read. Other programs end both
 * sides when they receive one.
 *
 * A client's `Sec-WebSocket-Key` has 10 random bytes and 6 that follow from them; a server that finds them so
 * sends a Pong with 8 bytes of a hash of the key right behind its 101. Whatever comes between that makes a key of
 * its own, or passes no Pong on, ends the agreement, and the client is as careful as with any other server. A
 * header would do the same, but a firewall could match it, and a proxy that terminates the WebSocket, and so
 * answers Close frames itself, may copy it. RFC 6455 §5.5.3 allows a Pong that answers no Ping.
 */
const KEY_BYTES = 16;
const RANDOM_BYTES = 10;
const REPLY_BYTES = 8;

const digest = (purpose: string, bytes: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(purpose), bytes]), 'buffer');

const markOf = (key: Buffer): Buffer =>
  digest('weir half-close offer', key.subarray(0, RANDOM_BYTES)).subarray(
    0,
    KEY_BYTES - RANDOM_BYTES,
  );

/** A `Sec-WebSocket-Key` that offers it. */
export function markedKey(random: RandomSource): string {
  const key = random.bytes(KEY_BYTES);
  key.set(markOf(key), RANDOM_BYTES);
  return key.toString('base64');
}

/** Whether a `Sec-WebSocket-Key` offers it; a key of others does by chance, once in 2^48. */
export function isMarked(base64: string): boolean {
  const key = Buffer.from(base64, 'base64');
  return key.length === KEY_BYTES && markOf(key).equals(key.subarray(RANDOM_BYTES));
}

/** The frame of a server that accepts the offer of a key. */
export const markReply = (base64: string): Buffer =>
  wholeFrame(Opcode.pong, [
    digest('weir half-close reply', Buffer.from(base64, 'base64')).subarray(0, REPLY_BYTES),
  ]);
