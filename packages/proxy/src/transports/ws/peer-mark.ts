import { hash } from 'node:crypto';
import type { RandomSource } from '@weir/base/random';
import { Opcode, wholeFrame } from './frames.ts';

/**
 * A mark by which two instances of Weir agree that each ends its side with a Close frame and continues to read. Other
 * programs end both sides when they receive one.
 *
 * 10 bytes of a client's `Sec-WebSocket-Key` are random, and 6 are derived from them. A server that recognises such a
 * key sends a Pong with 8 bytes of a hash of the key directly after its 101 response. An intermediary that generates
 * its own key or forwards no Pong prevents the agreement, and the client then treats the server like any other. A
 * header would also work, but a firewall could match it, and a proxy that terminates the WebSocket, and therefore
 * answers Close frames itself, may copy it. RFC 6455 §5.5.3 allows an unsolicited Pong.
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

/** Returns a `Sec-WebSocket-Key` with the mark. */
export function markedKey(random: RandomSource): string {
  const key = random.bytes(KEY_BYTES);
  key.set(markOf(key), RANDOM_BYTES);
  return key.toString('base64');
}

/** Whether a `Sec-WebSocket-Key` has the mark; another program's key has it by chance once in 2^48. */
export function isMarked(base64: string): boolean {
  const key = Buffer.from(base64, 'base64');
  return key.length === KEY_BYTES && markOf(key).equals(key.subarray(RANDOM_BYTES));
}

/** Returns the frame of a server that recognises the mark in a key. */
export const markReply = (base64: string): Buffer =>
  wholeFrame(Opcode.pong, [
    digest('weir half-close reply', Buffer.from(base64, 'base64')).subarray(0, REPLY_BYTES),
  ]);
