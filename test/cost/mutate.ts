import type { SeededRandom } from '../support/simnet/seeded-random.ts';
import { MOST_BYTES, MOST_CLIENTS, type Attack, type Piece } from './attack.ts';

type Operator = (attack: Attack, random: SeededRandom, others: readonly Attack[]) => Attack;

/** Numbers at which lengths, counts and flags change their meaning. */
const EDGES = [0, 1, 2, 5, 7, 0x0a, 0x0d, 0x20, 0x3f, 0x40, 0x7e, 0x7f, 0x80, 0xc0, 0xfe, 0xff];
const WRITE_SIZES = [0, 1, 2, 3, 9, 16, 64, 500, 1400];
const REPEATS = [1, 2, 8, 32, 128, 512, 2048];

const pick = <T>(list: readonly T[], random: SeededRandom): T =>
  list[random.below(list.length)] as T; // never empty here

/** The attack with one of its pieces changed; the same one where it has none. */
function withPiece(
  attack: Attack,
  random: SeededRandom,
  change: (one: Piece) => readonly Piece[],
): Attack {
  const at = random.below(attack.pieces.length);
  const chosen = attack.pieces[at];
  if (!chosen) return attack;
  return { ...attack, pieces: attack.pieces.toSpliced(at, 1, ...change(chosen)) };
}

/** The piece with changed bytes. */
const withBytes = (
  attack: Attack,
  random: SeededRandom,
  change: (bytes: Buffer) => Buffer,
): Attack =>
  withPiece(attack, random, (one) => [{ ...one, bytes: change(Buffer.from(one.bytes)) }]);

/** The first bytes of a message decide most: half of all places are among the first 64. */
const place = (length: number, random: SeededRandom): number =>
  random.below(random.chance(0.5) ? Math.min(length, 64) : length);

const OPERATORS: Readonly<Record<string, Operator>> = {
  'flip a bit': (attack, random) =>
    withBytes(attack, random, (bytes) => {
      const at = place(bytes.length, random);
      if (at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      return bytes;
    }),
  'set a byte': (attack, random) =>
    withBytes(attack, random, (bytes) => {
      if (bytes.length > 0) bytes[place(bytes.length, random)] = pick(EDGES, random);
      return bytes;
    }),
  'random bytes': (attack, random) =>
    withBytes(attack, random, (bytes) => {
      const at = place(bytes.length, random);
      random.fill(bytes.subarray(at, at + 1 + random.below(32)));
      return bytes;
    }),
  truncate: (attack, random) =>
    withBytes(attack, random, (bytes) => bytes.subarray(0, place(bytes.length, random))),
  'repeat a part': (attack, random) =>
    withPiece(attack, random, (one) => {
      const from = random.below(one.bytes.length);
      const to = from + 1 + random.below(one.bytes.length - from);
      return [
        { ...one, bytes: one.bytes.subarray(0, from), repeat: 1 },
        { ...one, bytes: one.bytes.subarray(from, to), repeat: pick(REPEATS, random) },
        { ...one, bytes: one.bytes.subarray(to), repeat: 1 },
      ].filter(({ bytes }) => bytes.length > 0);
    }),
  'repeat a piece': (attack, random) =>
    withPiece(attack, random, (one) => [{ ...one, repeat: pick(REPEATS, random) }]),
  'drop a piece': (attack, random) =>
    attack.pieces.length > 1 ? withPiece(attack, random, () => []) : attack,
  interleave: (attack, random) =>
    withPiece(attack, random, (one) => {
      const half = one.bytes.length >> 1;
      if (half === 0) return [one];
      return [
        { ...one, bytes: one.bytes.subarray(half) },
        { ...one, bytes: one.bytes.subarray(0, half) },
      ];
    }),
  'append another': (attack, random, others) => ({
    ...attack,
    pieces: [...attack.pieces, ...pick(others, random).pieces],
  }),
  'insert a piece of another': (attack, random, others) => {
    const { pieces } = pick(others, random);
    if (pieces.length === 0) return attack;
    const at = random.below(attack.pieces.length + 1);
    return { ...attack, pieces: attack.pieces.toSpliced(at, 0, pick(pieces, random)) };
  },
  'change the writes': (attack, random) => ({ ...attack, writeSize: pick(WRITE_SIZES, random) }),
  'change the sources': (attack, random) => ({ ...attack, sources: pick([1, 4, 64], random) }),
  'change the end': (attack, random) => ({
    ...attack,
    end: pick(['hold', 'half-close', 'reset'], random),
  }),
  'change the clients': (attack, random) => ({
    ...attack,
    clients: pick([4, 12, 24, MOST_CLIENTS], random),
  }),
};

const NAMES = Object.keys(OPERATORS);

/** Steps of a story that a file keeps; the seed is its first. */
const LONGEST_STORY = 12;

/** A child of one attack by one to three operators; `others` lend it their pieces. */
export function mutate(attack: Attack, random: SeededRandom, others: readonly Attack[]): Attack {
  let child = attack;
  for (let left = 1 + random.below(3); left > 0; left--) {
    const name = pick(NAMES, random);
    const operator = OPERATORS[name] as Operator; // one of its own keys
    const [first = '', ...steps] = child.story;
    child = {
      ...operator(child, random, others),
      story: [first, ...steps, name].slice(0, LONGEST_STORY),
    };
  }
  return bounded(child);
}

/** Shortens what would be longer than MOST_BYTES: repetitions first, then pieces. */
export function bounded(attack: Attack): Attack {
  const pieces: Piece[] = [];
  let left = MOST_BYTES;
  for (const { bytes, repeat, encoding } of attack.pieces) {
    const fitting = Math.min(repeat, Math.floor(left / Math.max(1, bytes.length)));
    if (fitting > 0) pieces.push({ bytes, repeat: fitting, encoding });
    left -= fitting * bytes.length;
  }
  return { ...attack, pieces };
}
