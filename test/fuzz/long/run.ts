import { WeirError } from '@weir/base';
import { SeededRandom } from '../../support/simnet/seeded-random.ts';
import { makeInput } from './mutate.ts';
import type { FuzzTarget } from './target.ts';

/** Inputs by default at most this long: most parsers decide by the first hundred bytes. */
const LONGEST = 1000;
/** Memory that no target may hold, in bytes: what it keeps between inputs is bounded far below. */
const MOST_MEMORY = 1500 * 2 ** 20;
const INPUTS_A_LOOK = 4096;

export interface FuzzRun {
  readonly target: FuzzTarget;
  readonly seed: number;
  readonly first: number;
  readonly inputs: number;
  /** Called before each input, for a watch that finds the one that never ends. */
  readonly onInput?: (index: number) => void;
}

/** An input that is neither a result nor a named error. */
export interface FuzzFailure {
  readonly index: number;
  readonly input: Buffer;
  readonly error: unknown;
}

export interface FuzzOutcome {
  /** Of those, how many ended in a WeirError. */
  readonly rejected: number;
  readonly failure: FuzzFailure | undefined;
}

/** Each input has a generator of its own, so that one can be repeated without those before it. */
const randomOf = (seed: number, index: number): SeededRandom =>
  new SeededRandom((Math.imul(seed, 0x9e37_79b1) ^ Math.imul(index + 1, 0x85eb_ca6b)) >>> 0);

/** Runs a target on inputs `first` to `first + inputs` of a seed, up to the first failure. */
export async function fuzz({
  target,
  seed,
  first,
  inputs,
  onInput,
}: FuzzRun): Promise<FuzzOutcome> {
  let rejected = 0;
  for (let index = first; index < first + inputs; index++) {
    const random = randomOf(seed, index);
    const input = makeInput(random, target.samples, target.longest ?? LONGEST);
    const copy = Buffer.from(input); // decoders may decrypt in place
    onInput?.(index);
    try {
      const pending = target.run(copy, random);
      if (pending) await pending;
    } catch (error) {
      if (!(error instanceof WeirError)) return { rejected, failure: { index, input, error } };
      rejected++;
    }
    if (index % INPUTS_A_LOOK === 0) {
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      if (heapUsed + arrayBuffers > MOST_MEMORY) {
        const error = new Error(`${heapUsed} bytes of heap, ${arrayBuffers} of buffers`);
        return { rejected, failure: { index, input, error } };
      }
    }
  }
  return { rejected, failure: undefined };
}
