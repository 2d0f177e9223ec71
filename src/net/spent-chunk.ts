import type { ByteLink } from './link.ts';

/** Below this the collector is as good. */
const FREED_AT_ONCE = 8 << 10;

/** On a chunk that is the only view of its memory, though it does not fill it. */
const SOLE = Symbol('the only view of its memory');

interface Markable extends Uint8Array {
  [SOLE]?: true;
}

/** Whether nobody else can look at the memory that a chunk lies in. */
const isSole = (chunk: Markable): boolean =>
  chunk.length === chunk.buffer.byteLength || chunk[SOLE] === true;

/**
 * Frees the memory of a chunk that nobody looks at any more: left to the collector, the 64 KB of
 * each read pile up to where they press for collections and fall out of the processor's caches,
 * which took half of the time of a relay (1.3 s a GB, 0.6 s with this; `pipe` 0.8 s).
 *
 * A chunk that shares its memory with others is left alone.
 */
export function freeChunk(chunk: Uint8Array): void {
  if (chunk.length < FREED_AT_ONCE || !isSole(chunk)) return;
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Memory of its own for a chunk that is to be freed so; what it holds is not cleared. */
export const ownChunk = (length: number): Buffer<ArrayBuffer> =>
  length < FREED_AT_ONCE ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);

/**
 * What is left of `chunk` when a framing was taken off it: `parts` of it, which then are all that
 * anybody looks at, in as few pieces as it takes for them to be freed one day. `chunk` is spent.
 */
export function strip(chunk: Uint8Array, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const [first] = parts;
  if (first === undefined || chunk.length < FREED_AT_ONCE || !isSole(chunk)) return parts;
  if (parts.length === 1) {
    (first as Markable)[SOLE] = true;
    return parts;
  }
  // One copy, and one write further on, for what would lie around until it is collected.
  const whole = ownChunk(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  freeChunk(chunk);
  return [whole];
}

/** Writes a chunk that is nobody else's, and gives its memory up where the link takes that. */
export const giveOrWrite = (link: ByteLink, chunk: Uint8Array): Promise<void> | undefined =>
  link.give ? link.give(chunk) : link.write(chunk);
