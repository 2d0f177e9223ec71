import { RRegexSet } from 'rregex';
import { WeirError, messageOf } from '../../errors.ts';
import type { Turns } from '../../net/turns.ts';

/**
 * Patterns in one compiled set: one pass over the text matches all of them. This many take a few
 * milliseconds to compile, and larger sets match no faster (smaller ones do slower).
 */
const SET_SIZE = 250;

/** Sets that a list may be spread over, beyond what its length needs, before it is compiled anew. */
const SPREAD_LIMIT = 8;

/** The engine's message when patterns are valid each but too large together. */
const TOO_LARGE = /exceeds size limit/;

/** A pattern that the Rust regex engine refuses; `message` is what it prints, on several lines. */
export class RegexError extends WeirError {
  readonly pattern: string;

  constructor(pattern: string, message: string, options?: ErrorOptions) {
    super('invalid_regex', message, options);
    this.pattern = pattern;
  }
}

/**
 * The error text of a pattern in the Rust regex dialect, `undefined` for a valid one.
 *
 * The engine never frees all memory of a compiled pattern (a few KB; megabytes where Unicode classes
 * are repeated). Callers that check the same patterns repeatedly, as reloads do, use a RegexCache.
 */
export function checkRegex(pattern: string): string | undefined {
  try {
    new RRegexSet([pattern]).free();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** A compiled set and the patterns in it. */
interface Compiled {
  readonly engine: RRegexSet;
  readonly patterns: readonly string[];
}

/**
 * Remembers compiled patterns, so that none is compiled twice in the life of a process: see
 * `checkRegex` for why. Keep one across reloads and hand it to every router that is built.
 */
export class RegexCache {
  /** The verdict on every pattern that was checked. */
  readonly #verdicts = new Map<string, string | undefined>();
  /** The newest set that holds a pattern. */
  readonly #homes = new Map<string, Compiled>();
  /** Into how many sets the last list went that was compiled anew: large patterns need more. */
  #fewestSets = 0;

  /** As `checkRegex`, but a pattern that was seen before costs nothing. */
  check(pattern: string): string | undefined {
    if (this.#homes.has(pattern)) return undefined;
    if (!this.#verdicts.has(pattern)) this.#verdicts.set(pattern, checkRegex(pattern));
    return this.#verdicts.get(pattern);
  }

  /**
   * A matcher of these patterns, which must be distinct.
   * @throws {RegexError} naming the first invalid one.
   */
  compile(patterns: readonly string[]): RegexSet {
    const steps = this.#steps(patterns);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return new RegexSet(value, patterns);
    }
  }

  /**
   * Compiles these patterns, giving way to everything else, so that `compile` finds them ready.
   * @throws {RegexError} as `compile` does.
   */
  async prepare(patterns: readonly string[], turns: Turns): Promise<void> {
    const steps = this.#steps(patterns);
    while (!steps.next().done) if (turns.due) await turns.next();
  }

  /** Compiles what must be compiled, a set at each step, and returns the sets that hold it all. */
  *#steps(patterns: readonly string[]): Generator<void, ReadonlySet<Compiled>> {
    yield* this.#compile(patterns.filter((pattern) => !this.#homes.has(pattern)));
    const sets = this.#setsOf(patterns);
    const enough = patterns.length / SET_SIZE + this.#fewestSets + SPREAD_LIMIT;
    if (sets.size <= enough) return sets;
    // Many small edits have left the list in many small sets, and each costs a pass.
    yield* this.#compile(patterns);
    const fewer = this.#setsOf(patterns);
    this.#fewestSets = fewer.size;
    return fewer;
  }

  #setsOf(patterns: readonly string[]): Set<Compiled> {
    const sets = new Set<Compiled>();
    for (const pattern of patterns) {
      const home = this.#homes.get(pattern);
      if (home) sets.add(home);
    }
    return sets;
  }

  *#compile(patterns: readonly string[]): Generator<void, void> {
    for (let from = 0; from < patterns.length; from += SET_SIZE) {
      yield* this.#compileSet(patterns.slice(from, from + SET_SIZE));
      yield;
    }
  }

  *#compileSet(patterns: readonly string[]): Generator<void, void> {
    try {
      const compiled = { engine: new RRegexSet([...patterns]), patterns };
      for (const pattern of patterns) this.#homes.set(pattern, compiled);
    } catch (error) {
      const [only] = patterns;
      if (patterns.length === 1 && only !== undefined) {
        throw new RegexError(only, messageOf(error), { cause: error });
      }
      if (TOO_LARGE.test(messageOf(error))) {
        const half = patterns.length >> 1;
        yield* this.#compileSet(patterns.slice(0, half));
        yield;
        yield* this.#compileSet(patterns.slice(half));
        return;
      }
      // The engine does not report which one it was; a parse error leaks no memory.
      for (const pattern of patterns) {
        const text = this.check(pattern);
        if (text !== undefined) throw new RegexError(pattern, text, { cause: error });
      }
      throw new WeirError('regex_engine', messageOf(error), { cause: error });
    }
  }
}

/** Compiled patterns, matched together. Matching is unanchored and takes linear time. */
export class RegexSet {
  readonly #sets: readonly { engine: RRegexSet; indices: Int32Array }[];

  /** Made by RegexCache. `sets` may hold patterns that are not wanted any more. */
  constructor(sets: Iterable<Compiled>, patterns: readonly string[]) {
    const wanted = new Map(patterns.map((pattern, index) => [pattern, index]));
    const taken = new Set<string>();
    this.#sets = Array.from(sets, ({ engine, patterns: held }) => {
      // A pattern that two sets hold after a new compilation is reported by one of them.
      const indices = Int32Array.from(held, (pattern) => {
        if (taken.has(pattern)) return -1;
        return wanted.get(pattern) ?? -1;
      });
      for (const pattern of held) taken.add(pattern);
      return { engine, indices };
    });
  }

  /** Positions, in the list that was compiled, of the patterns that match; in no special order. */
  matches(text: string): number[] {
    const found: number[] = [];
    for (const { engine, indices } of this.#sets) {
      for (const local of engine.matches(text)) {
        const index = indices[local];
        if (index !== undefined && index >= 0) found.push(index);
      }
    }
    return found;
  }
}
