import type { Clock } from '../net/clock.ts';

/** A source is told of once in this time. */
const QUIET_MS = 60_000;
/** Sources that are told of in that time; those beyond it share one line. */
const MOST_SOURCES = 1024;

interface Told {
  at: number;
  /** Refusals after that, of which nobody was told. */
  since: number;
}

/** What is to be said of a refusal. */
export interface RefusalNote {
  /** Refusals of which nobody was told: of the same source, or of `others`. */
  readonly untold: number;
  /** Whether the source is one of those that share a line. */
  readonly others: boolean;
}

/**
 * Which refusals of an inbound are worth a line in the log: whoever knocks all day must not fill the
 * disk, from one address or from many.
 */
export class RefusalTable {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In the order in which they were told of last, so the first are the first to be forgotten. */
  readonly #sources = new Map<string, Told>();
  #others: Told | undefined;

  constructor(clock: Clock, limit = MOST_SOURCES) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Takes note of a refusal; `undefined` when it is not to be told now. */
  note(source: string): RefusalNote | undefined {
    const now = this.#clock.now();
    const before = this.#sources.get(source);
    const others = !before && !this.#hasRoom(now);
    const last = others ? this.#others : before;
    if (last && now - last.at < QUIET_MS) {
      last.since++;
      return undefined;
    }
    const told = { at: now, since: 0 };
    if (others) {
      this.#others = told;
    } else {
      this.#sources.delete(source); // to be the last in order
      this.#sources.set(source, told);
    }
    return { untold: last?.since ?? 0, others };
  }

  /** Forgets sources that would be told of anyway, when there is no room otherwise. */
  #hasRoom(now: number): boolean {
    for (const [source, { at }] of this.#sources) {
      if (this.#sources.size < this.#limit || now - at < QUIET_MS) break;
      this.#sources.delete(source);
    }
    return this.#sources.size < this.#limit;
  }
}
