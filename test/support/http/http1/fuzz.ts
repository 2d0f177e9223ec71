import assert from 'node:assert/strict';
import { MessageError } from '@weir/http/http1';

/** Cuts bytes into chunks of the given lengths, over and over; a length of 0 cuts an empty one. */
export function chunksOf(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const moves = lengths.some((length) => length > 0);
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const length = moves ? (lengths[turn % lengths.length] ?? 1) : bytes.length;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

/** The result of a reader, or the status of the error that it names; no other error passes. */
export function outcomeOf<T>(read: () => T): T | { refused: number } {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof MessageError, String(error));
    return { refused: error.status };
  }
}
