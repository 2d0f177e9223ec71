import type { SeededRandom } from '../../support/simnet/seeded-random.ts';

/** Values at which lengths, counts and signs change. */
const EDGES = [0, 1, 2, 0x0a, 0x0d, 0x20, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xfe, 0xff] as const;

const edge = (random: SeededRandom): number => EDGES[random.below(EDGES.length)] ?? 0;

const NOTHING = Buffer.alloc(0);

/**
 * One input of at most `longest` bytes: random bytes, a sample, samples after each other, or any of
 * these with a few changes.
 */
export function makeInput(
  random: SeededRandom,
  samples: readonly Uint8Array[],
  longest: number,
): Buffer {
  if (samples.length === 0 || random.chance(0.1)) return random.bytes(random.below(200));
  const sample = (): Uint8Array => samples[random.below(samples.length)] ?? NOTHING;
  let input: Buffer = Buffer.from(sample());
  while (random.chance(0.3)) input = Buffer.concat([input, sample()]);
  for (let changes = random.below(5); changes > 0; changes--) {
    input = change(random, input, sample());
  }
  return input.length > longest ? input.subarray(0, longest) : input;
}

/** Changes the memory of `input`, or returns another that is longer or shorter. */
function change(random: SeededRandom, input: Buffer, other: Uint8Array): Buffer {
  // Headers are where most is decided.
  const reach = random.chance(0.6) ? Math.min(48, input.length) : input.length;
  const at = random.below(reach + 1);
  const size = 1 + random.below(random.chance(0.8) ? 8 : 200);
  switch (random.below(11)) {
    case 0:
      return input.subarray(0, at);
    case 1:
      if (at < input.length) input[at] = (input[at] ?? 0) ^ (1 << random.below(8));
      return input;
    case 2:
      if (at < input.length) input[at] = random.below(256);
      return input;
    case 3:
      if (at < input.length) input[at] = edge(random);
      return input;
    case 4:
      if (at + 2 <= input.length) input.writeUInt16BE((edge(random) << 8) | edge(random), at);
      return input;
    case 5:
      input.fill(edge(random), at, Math.min(input.length, at + size));
      return input;
    case 6:
      return Buffer.concat([input.subarray(0, at), random.bytes(size), input.subarray(at)]);
    case 7:
      return Buffer.concat([input.subarray(0, at), input.subarray(at + size)]);
    case 8:
      return Buffer.concat([input.subarray(0, at + size), input.subarray(at)]);
    case 9: {
      const from = random.below(other.length + 1);
      return Buffer.concat([input.subarray(0, at), other.subarray(from)]);
    }
    default: {
      const from = random.below(other.length + 1);
      const piece = other.subarray(from, from + size);
      return Buffer.concat([input.subarray(0, at), piece, input.subarray(at)]);
    }
  }
}
