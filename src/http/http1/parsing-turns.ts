/**
 * How long a turn of the event loop may take before connections wait for the next one, in milliseconds. What
 * parsing leaves for the end of a turn, such as closing connections, takes about as long again.
 */
const TURN_MS = 5;

/** A connection whose next bytes wait to be parsed. */
export interface ParsedConnection {
  /** Has the parser read the next piece. */
  readonly parsePiece: () => void;
}

/** How it knows the time and gets a turn of the event loop. */
export interface TurnSource {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly nextTurn: (begin: () => void) => void;
}

const SOURCE: TurnSource = {
  now: () => performance.now(),
  nextTurn: (begin) => void setImmediate(begin),
};

/**
 * The turns of the event loop that connections share for parsing, one piece of each after the other. What does
 * not fit into a turn waits for the next, so that other work of the process is done in between.
 */
export class ParsingTurns {
  readonly #source: TurnSource;
  /** In the order in which they came, which a `Set` keeps. */
  readonly #waiting = new Set<ParsedConnection>();
  /** When the turn began in which something is or was parsed; `undefined` once it is over. */
  #startedAt: number | undefined;
  #isParsing = false;

  constructor(source: TurnSource = SOURCE) {
    this.#source = source;
  }

  /** Has the next piece parsed: before this returns, or in a later turn. A connection waits once. */
  enter(connection: ParsedConnection): void {
    this.#waiting.add(connection);
    // What a piece causes may enter another connection: the loop that parses it goes on with that one.
    if (this.#isParsing) return;
    if (this.#startedAt === undefined) this.#begin();
    else if (this.#hasTime(this.#startedAt)) this.#parse(this.#startedAt);
  }

  leave(connection: ParsedConnection): void {
    this.#waiting.delete(connection);
  }

  #begin(): void {
    const startedAt = this.#source.now();
    this.#startedAt = startedAt;
    this.#source.nextTurn(() => {
      this.#startedAt = undefined;
      if (this.#waiting.size > 0) this.#begin();
    });
    this.#parse(startedAt);
  }

  /** Parses at least one piece. */
  #parse(startedAt: number): void {
    this.#isParsing = true;
    try {
      for (const connection of this.#waiting) {
        this.#waiting.delete(connection);
        connection.parsePiece();
        if (!this.#hasTime(startedAt)) return;
      }
    } finally {
      this.#isParsing = false;
    }
  }

  #hasTime(startedAt: number): boolean {
    return this.#source.now() - startedAt < TURN_MS;
  }
}
