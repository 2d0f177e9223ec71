import { Fifo } from '@weir/base/collections';
import type { ByteLink } from '../links/link.ts';
import { asSole, copyOf, isSole } from '../links/read-queue.ts';
import { type Defer, inNextTurn } from '../time/turns.ts';
import { unlessAborted } from '../time/clock.ts';

/**
 * Work of decoded units, in units of about half a microsecond: the cost of the smallest frame. Bytes do not measure it:
 * a read of 64 KB is one frame, or 21,000 datagrams.
 */
export const UnitCost = {
  /** A header that is read and dropped: a control frame, an empty frame, a chunk without data. */
  frame: 1,
  /** A decrypted TLS record. */
  record: 2,
  /** An AEAD chunk: a length and a payload, both decrypted. */
  sealedChunk: 3,
  /** A datagram that is routed and sent. */
  datagram: 8,
  /** An HTTP/1 head that is parsed, and answered or forwarded. */
  head: 64,
  /** A flow that is routed, dialled and recorded. */
  flow: 256,
} as const;

/** Units that a connection counts by itself before it asks for a grant: an ordinary read has fewer. */
const UNGRANTED_UNITS = 32;
/** Units of one grant, 0.25 to 0.5 ms. */
export const GRANT_UNITS = 512;
/** Grants of all connections in a turn: 2 to 4 ms. */
export const GRANTS_A_TURN = 8;
/** Grants of a turn for connections that use one grant after the other; the rest is for others. */
export const SPENT_GRANTS_A_TURN = 6;
/** Turns without a grant after which a connection has precedence: busy connections never reach it. */
const FRESH_AFTER_TURNS = 8;

/** Waiting connections, grouped by holder; holders take turns. */
class HolderQueue {
  readonly #queues = new Map<unknown, Fifo<() => void>>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  push(holder: unknown, granted: () => void): void {
    let queue = this.#queues.get(holder);
    if (!queue) this.#queues.set(holder, (queue = new Fifo()));
    queue.push(granted);
  }

  shift(): (() => void) | undefined {
    for (const [holder, queue] of this.#queues) {
      const granted = queue.shift();
      // The order of a Map is that of insertion: the holder moves behind the others.
      this.#queues.delete(holder);
      if (queue.size > 0) this.#queues.set(holder, queue);
      return granted;
    }
    return undefined;
  }
}

/** The grants of a turn of the event loop. The process shares one instance; a test creates its own. */
export class UnitTurns {
  readonly #later: Defer;
  readonly #fresh = new HolderQueue();
  readonly #spent = new HolderQueue();
  #left = GRANTS_A_TURN;
  #isScheduled = false;
  /** Number of turns in which a grant was requested. */
  turn = 0;

  constructor(later: Defer = inNextTurn) {
    this.#later = later;
  }

  /**
   * Takes a grant of this turn; returns a promise of a grant in a later turn when none is left.
   * @param isFresh whether the connection goes before those that use one grant after the other.
   */
  take(holder: unknown, isFresh: boolean): Promise<void> | undefined {
    this.#schedule();
    const reserve = isFresh ? 0 : GRANTS_A_TURN - SPENT_GRANTS_A_TURN;
    const queue = isFresh ? this.#fresh : this.#spent;
    if (this.#left > reserve && queue.isEmpty) {
      this.#left--;
      return undefined;
    }
    return new Promise((resolve) => queue.push(holder, resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#isScheduled = false;
    this.turn++;
    this.#left = GRANTS_A_TURN;
    this.#release(this.#fresh, 0);
    this.#release(this.#spent, GRANTS_A_TURN - SPENT_GRANTS_A_TURN);
    // The connections released here use this turn's grants; the next turn is for others.
    if (this.#left < GRANTS_A_TURN) this.#schedule();
  };

  #release(queue: HolderQueue, reserve: number): void {
    while (this.#left > reserve) {
      const granted = queue.shift();
      if (!granted) return;
      this.#left--;
      granted();
    }
  }
}

const PROCESS_TURNS = new UnitTurns();

/**
 * The units that one connection may have decoded before others get their share of the event loop. It limits all
 * decoders of the process together: a turn has `GRANTS_A_TURN` grants, and each connection that wants more than one
 * waits until those before it have had theirs. A connection of few units goes first, so that it waits for one turn, and
 * not for a round of all busy connections.
 *
 * One instance belongs to one connection. Connections known to belong to one user share one place in the round.
 */
export class UnitShare {
  readonly #turns: UnitTurns;
  readonly #holder: unknown;
  /** Counted units that no grant has paid for yet; below 0 while a grant lasts. */
  #owed = 0;
  #grantedAt = -Infinity;

  /** @param holder the owner of one place in a round, such as a user; the connection itself by default. */
  constructor(holder?: unknown, turns: UnitTurns = PROCESS_TURNS) {
    this.#holder = holder ?? this;
    this.#turns = turns;
  }

  /**
   * Counts work, see `UnitCost`.
   * @returns a promise to await before more is decoded, if any. One may be pending at a time.
   */
  take(units: number): Promise<void> | undefined {
    this.#owed += units;
    return this.#owed < UNGRANTED_UNITS ? undefined : this.#ask();
  }

  #ask(): Promise<void> | undefined {
    const turns = this.#turns;
    const wait = turns.take(this.#holder, turns.turn - this.#grantedAt > FRESH_AFTER_TURNS);
    if (!wait) return this.#pay();
    return wait.then(() => this.#pay());
  }

  /** Spends a grant; work that costs more than one waits for several. */
  #pay(): Promise<void> | undefined {
    this.#grantedAt = this.#turns.turn;
    this.#owed -= GRANT_UNITS;
    return this.#owed < UNGRANTED_UNITS ? undefined : this.#ask();
  }
}

/** Bytes of a read that are decoded at once while its units are small: about a hundred of them. */
export const SMALL_PIECE = 4 << 10;
/** Bytes per unit of an ordinary stream; bulk data has fewer units. */
const BYTES_A_UNIT = 512;
/**
 * The reads of a connection of sealed units, such as AEAD chunks or TLS records. A read of 64 KB has four of them, or
 * 2,800 with a byte in each, which cost fifty times as much. While units are small, a read is decoded in pieces, and
 * units beyond one per `BYTES_A_UNIT` count in the share of a turn. Large units cost nothing here.
 */
export class SmallUnits {
  readonly #cost: number;
  readonly #pieces = new ReadInPieces();
  /** Whether units have to be assumed small: until bulk data shows otherwise. */
  #areSmall = true;

  /** @param cost the cost of a unit, see `UnitCost`. */
  constructor(cost: number) {
    this.#cost = cost;
  }

  /** Whether `next` returns the rest of a read, rather than a read of the link below. */
  get isWaiting(): boolean {
    return this.#pieces.isWaiting;
  }

  /** Waits for its turn, then returns the rest of the last read, or a read of `link`. */
  next(
    link: Pick<ByteLink, 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    return this.#pieces.next(link, signal);
  }

  /** Returns the part of a read that is decoded now; the rest is returned by `next`. */
  cut<Bytes extends Uint8Array | undefined>(bytes: Bytes): Bytes | Uint8Array {
    if (!bytes || !this.#areSmall || bytes.length <= SMALL_PIECE) return bytes;
    if (!this.#pieces.mayKeep) return bytes;
    const rest = bytes.subarray(SMALL_PIECE);
    // The piece is a copy, so that the rest can be freed with the memory of the read.
    this.#pieces.keep(isSole(bytes) ? asSole(rest) : rest);
    return copyOf(bytes.subarray(0, SMALL_PIECE));
  }

  /** Counts the units that `bytes` bytes have completed. */
  count(units: number, bytes: number): void {
    // An ordinary read completes one unit.
    const excess = units - 1 - Math.floor(bytes / BYTES_A_UNIT);
    if (excess > 0) {
      this.#areSmall = true;
      this.#pieces.count(excess * this.#cost);
    } else if (bytes >= SMALL_PIECE) {
      this.#areSmall = false;
    }
  }

  /** Drops the rest of a read. */
  release(): void {
    this.#pieces.keep(undefined);
  }
}

/**
 * Links of the process that may keep part of a read, 64 KB each. Beyond this bound reads are decoded as a whole, and
 * the share of each socket in a turn limits the work.
 */
const MOST_WAITING_READS = 512;
let waitingReads = 0;

/** Decodes the reads of one connection in pieces, each in a turn for which the connection has a share. */
export class ReadInPieces {
  readonly #share = new UnitShare();
  /** The undecoded rest of a read. */
  #rest: Uint8Array | undefined;
  #turn: Promise<void> | undefined;

  /** Whether `next` returns the rest of a read, rather than a read of the link below. */
  get isWaiting(): boolean {
    return this.#rest !== undefined || this.#turn !== undefined;
  }

  get hasRest(): boolean {
    return this.#rest !== undefined;
  }

  /** Whether the rest of a read may be kept. */
  get mayKeep(): boolean {
    return waitingReads < MOST_WAITING_READS;
  }

  /** Waits for its turn, then returns the rest of the last read, or a read of `link`. */
  async next(
    link: Pick<ByteLink, 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    if (this.#turn) await unlessAborted(this.#turn, signal);
    this.#turn = undefined;
    const rest = this.#rest;
    this.keep(undefined);
    return rest ?? link.read(signal);
  }

  /** Keeps the rest of a read for `next`; `undefined` drops it. */
  keep(rest: Uint8Array | undefined): void {
    if (this.#rest) waitingReads--;
    if (rest) waitingReads++;
    this.#rest = rest;
  }

  /** Counts what has been decoded, see `UnitCost`; `next` waits when the share of this turn is used up. */
  count(cost: number): void {
    this.#turn = this.#share.take(cost);
  }
}
