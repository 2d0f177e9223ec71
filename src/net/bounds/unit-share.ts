import { Fifo } from '../../collections/fifo.ts';
import { inNextTurn, type Defer } from '../time/turn-loop.ts';

/**
 * Work of decoded units, in units of about half a microsecond: that of the smallest frame. Bytes are no
 * measure of it: a read of 64 KB is one frame, or 21,000 datagrams.
 */
export const UnitCost = {
  /** A header that is read and dropped: a control frame, an empty one, a chunk without data. */
  frame: 1,
  /** A TLS record that is opened. */
  record: 2,
  /** An AEAD chunk: a length and a payload that are opened. */
  sealedChunk: 3,
  /** A datagram that is routed and sent. */
  datagram: 8,
  /** A head of HTTP/1 that is parsed and answered or passed on. */
  head: 64,
  /** A flow that is routed, dialled and recorded. */
  flow: 256,
} as const;

/** Units that a connection counts by itself before it asks for a grant: an honest read has fewer. */
const UNGRANTED_UNITS = 32;
/** Units of one grant, 0.25 to 0.5 ms. */
export const GRANT_UNITS = 512;
/** Grants of all connections in a turn: 2 to 4 ms. */
export const GRANTS_A_TURN = 8;
/** Those of them for connections that use one grant after the other; the rest is for others. */
export const SPENT_GRANTS_A_TURN = 6;
/** Turns without a grant after which a connection goes first: none that uses all it gets. */
const FRESH_AFTER_TURNS = 8;

/** Connections that wait, one of each holder in turn. */
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
      // The order of a Map is that of insertion: the holder goes behind the others.
      this.#queues.delete(holder);
      if (queue.size > 0) this.#queues.set(holder, queue);
      return granted;
    }
    return undefined;
  }
}

/** The grants of a turn of the event loop. One is shared by the process; a test makes its own. */
export class UnitTurns {
  readonly #later: Defer;
  readonly #fresh = new HolderQueue();
  readonly #spent = new HolderQueue();
  #left = GRANTS_A_TURN;
  #isScheduled = false;
  /** Turns in which a grant was asked for. */
  turn = 0;

  constructor(later: Defer = inNextTurn) {
    this.#later = later;
  }

  /**
   * Takes a grant of this turn; a promise of one of a later turn when none is left.
   *
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
    // Those that were released use the share of this turn; the next one is for others.
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
 * The units that one connection may have decoded before others get their share of the event loop. All
 * decoders of the process count in it, whatever they decode: a turn has `GRANTS_A_TURN` grants, and each
 * connection that wants more than one waits until those before it had theirs. A connection of few units
 * goes first, so that it waits for one turn, and not for a round of all that send as many as they can.
 *
 * One instance belongs to one connection. Where a user's connections are known to be the same holder's, they
 * share its place in the round.
 */
export class UnitShare {
  readonly #turns: UnitTurns;
  readonly #holder: unknown;
  /** Units that were counted and not yet paid by a grant; below 0 while a grant lasts. */
  #owed = 0;
  #grantedAt = -Infinity;

  /** @param holder what a round has one turn for: a user, say; the connection itself by default. */
  constructor(holder?: unknown, turns: UnitTurns = PROCESS_TURNS) {
    this.#holder = holder ?? this;
    this.#turns = turns;
  }

  /**
   * Counts work, see `UnitCost`.
   *
   * @returns a promise to wait for before more is decoded, if there is one. One may be pending at a time.
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

  /** What costs more than a grant waits for several. */
  #pay(): Promise<void> | undefined {
    this.#grantedAt = this.#turns.turn;
    this.#owed -= GRANT_UNITS;
    return this.#owed < UNGRANTED_UNITS ? undefined : this.#ask();
  }
}
