import type { SeededRandom } from '../../support/simnet/seeded-random.ts';

/** A parser or a state machine that reads bytes of others, and what valid input looks like. */
export interface FuzzTarget {
  readonly name: string;
  /** The files of `src` that it is about. */
  readonly files: readonly string[];
  /** Valid inputs, made by encoders of this project where there are some: what is mutated. */
  readonly samples: readonly Uint8Array[];
  /** Its part of all inputs; 1 for what takes some microseconds, less for slower ones. */
  readonly share: number;
  /** The longest input, in bytes. */
  readonly longest?: number;
  /**
   * Reads one input. A `WeirError` that it throws is a result; any other error is a defect.
   * @param random for chunks and other choices
   */
  readonly run: (input: Buffer, random: SeededRandom) => void | Promise<void>;
}

/** A target of text: its samples are UTF-8. */
export const textSamples = (...texts: readonly string[]): readonly Uint8Array[] =>
  texts.map((text) => Buffer.from(text));

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** `whole` in memory of its own for each piece; some are empty, many are one byte. */
export function chunksOf(whole: Uint8Array, random: SeededRandom): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  const longest = random.chance(0.2) ? 1 : 1 + random.below(Math.max(1, whole.length));
  for (let at = 0; at < whole.length;) {
    const size = random.below(longest + 1);
    chunks.push(Uint8Array.from(whole.subarray(at, at + size)));
    at += size;
  }
  return chunks;
}
