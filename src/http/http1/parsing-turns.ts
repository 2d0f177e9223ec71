/**
 * Milliseconds of parsing per turn of the event loop, after which connections wait for the next turn. Work that parsing
 * defers to the end of the turn, such as closing connections, takes about as long again.
 */
const TURN_MS = 5;

/** A connection whose next bytes wait to be parsed. */
export interface ParsedConnection {
  /** Makes the parser read the next piece. */
  readonly parsePiece: () => void;
}

/** The clock and scheduler of `ParsingTurns`. */
export interface TurnSource {
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly nextTurn: (begin: () => void) => void;
}

const SOURCE: TurnSource = {
  now: () => performance.now(),
  nextTurn: (begin) => void setImmediate(begin),
};

/**
 * Schedules parsing of many connections in turns of the event loop, one piece of each connection at a time. Pieces that
 * do not fit into a turn are deferred to the next one, so that other work runs in between.
 */
export class ParsingTurns {
  readonly #source: TurnSource;
  /** Waiting connections in order of arrival, which a `Set` preserves. */
  readonly #waiting = new Set<ParsedConnection>();
  /** Start of the current turn with parsing; `undefined` between turns. */
  #startedAt: number | undefined;
  #isParsing = false;

  constructor(source: TurnSource = SOURCE) {
    this.#source = source;
  }

  /**
   * Schedules parsing of the next piece: it is parsed before this call returns, or in a later turn. A connection is
   * queued at most once.
   */
  enter(connection: ParsedConnection): void {
    this.#waiting.add(connection);
    // Parsing may enter another connection: the loop in progress then continues with it.
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

  /** Parses pieces until the time of the turn is used up, at least one. */
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
