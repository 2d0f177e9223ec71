import assert from 'node:assert/strict';
import { messageOf, WeirError } from '@weir/base';
import { BoundedReader, type ByteLink, linkPair } from '@weir/io/links';
import type { SeededRandom } from '../../support/simnet/seeded-random.ts';
import { chunksOf } from './target.ts';

/** Bytes as a text that two outcomes can be compared by. */
export const shown = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** What was found in an input, and the error that ended it, if any. */
interface Outcome {
  readonly found: readonly string[];
  readonly error: string | undefined;
}

/**
 * Reads an input in one piece and in several: both find the same and end in the same error. `read`
 * adds what it finds to a list, with the bytes of a payload joined.
 */
export function sameHoweverSplit(
  input: Uint8Array,
  random: SeededRandom,
  read: (chunks: readonly Uint8Array[], found: string[]) => void,
): void {
  const outcome = (chunks: readonly Uint8Array[]): Outcome => {
    const found: string[] = [];
    try {
      read(chunks, found);
      return { found, error: undefined };
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      return { found, error: `${error.name}: ${error.message}` };
    }
  };
  assert.deepEqual(outcome(chunksOf(input, random)), outcome([Uint8Array.from(input)]));
}

/**
 * Reads an input that comes over a link in pieces, and then ends: it is read, or a WeirError is
 * thrown, the same in any pieces. `limit` is that of the reader.
 */
export async function readFromLink(
  input: Uint8Array,
  random: SeededRandom,
  limit: number,
  read: (reader: BoundedReader, link: ByteLink) => Promise<unknown>,
): Promise<void> {
  const outcome = async (chunks: readonly Uint8Array[]): Promise<unknown> => {
    const [near, far] = linkPair();
    for (const chunk of chunks) void far.write(chunk);
    void far.closeWrite();
    try {
      return await read(new BoundedReader(near, limit), near);
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      return `${error.name}: ${messageOf(error)}`;
    } finally {
      near.destroy();
    }
  };
  const split = await outcome(chunksOf(input, random));
  const whole = await outcome([Uint8Array.from(input)]);
  // What was read in one piece may be a longer view or a limit met earlier, so only its kind counts.
  assert.equal(typeof split, typeof whole);
}
