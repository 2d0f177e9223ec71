import * as fc from 'fast-check';

/** The positions that divide a run of bytes into chunks. */
export const cuts: fc.Arbitrary<readonly number[]> = fc
  .array(fc.nat(90), { maxLength: 8 })
  .map((all) => all.toSorted((a, b) => a - b));

/** The bytes in the pieces that lie between the cuts, as memory of their own each. */
export function chunksOf(whole: Uint8Array, at: readonly number[]): Uint8Array[] {
  const edges = [0, ...at.filter((edge) => edge < whole.length), whole.length];
  return edges.slice(1).map((edge, index) => whole.slice(edges[index], edge));
}

/** Bytes that begin like one of the samples and go wrong anywhere, or are nothing of the kind. */
export const nearly = (...samples: readonly Uint8Array[]): fc.Arbitrary<Buffer> =>
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.uint8Array({ maxLength: 600, size: 'max' }).map((all) => Buffer.from(all)),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.array(fc.constantFrom(...samples), { minLength: 1, maxLength: 3 }),
          fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 2 }),
          fc.nat(160),
          fc.uint8Array({ maxLength: 40, size: 'max' }),
        )
        .map(([parts, changes, length, tail]) => {
          const whole = Buffer.concat(parts);
          for (const [at, value] of changes) whole[at] = value;
          return Buffer.concat([whole.subarray(0, length), tail]);
        }),
    },
  );
