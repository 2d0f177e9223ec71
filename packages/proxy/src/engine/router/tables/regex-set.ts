import { RRegexSet } from 'rregex';
import { WeirError, messageOf } from '@weir/base';
import { atOnce, type Steps } from '@weir/io/time';

/**
 * Number of patterns in one compiled set, which one pass over the text matches. Such a set takes a few milliseconds to
 * compile. Larger sets do not match faster, and smaller ones match slower.
 */
const SET_SIZE = 250;

/** A list is recompiled when it is spread over this many more sets than it needs. */
const SPREAD_LIMIT = 8;

/** The message of the engine when patterns are valid, but too large for one set. */
const TOO_LARGE = /exceeds size limit/;

/**
 * The error of a pattern that is invalid in the Rust regex dialect; `message` is that of the engine, of several lines.
 */
export class RegexError extends WeirError {
  readonly pattern: string;

  constructor(pattern: string, message: string, options?: ErrorOptions) {
    super('invalid_regex', message, options);
    this.pattern = pattern;
  }
}

/**
 * Returns the error text of a pattern in the Rust regex dialect; `undefined` for a valid one.
 *
 * The engine leaks memory for every compiled pattern (a few KB; megabytes where Unicode classes are
 * repeated). Callers that check the same patterns again, as reloads do, use a RegexCache.
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
 * Caches compiled patterns, so that none is compiled twice, for the reason given at `checkRegex`. One instance is kept
 * across reloads, and passed to every router.
 */
export class RegexCache {
  /** Results of `checkRegex` by pattern. */
  readonly #verdicts = new Map<string, string | undefined>();
  /** The newest set with each pattern. */
  readonly #homes = new Map<string, Compiled>();
  /** Number of sets of the last list that was recompiled: large patterns need more. */
  #fewestSets = 0;

  /** Returns the error text of a pattern, as `checkRegex` returns it, cached. */
  check(pattern: string): string | undefined {
    if (this.#homes.has(pattern)) return undefined;
    if (!this.#verdicts.has(pattern)) this.#verdicts.set(pattern, checkRegex(pattern));
    return this.#verdicts.get(pattern);
  }

  /**
   * Returns a matcher of these patterns, which must be distinct.
   * @throws {RegexError} for the first invalid one
   */
  compile(patterns: readonly string[]): RegexSet {
    return atOnce(this.compileInSteps(patterns));
  }

  /** Compiles a matcher of these patterns in steps; those that compile a set take a few milliseconds. */
  *compileInSteps(patterns: readonly string[]): Steps<RegexSet> {
    const missing: string[] = [];
    for (const pattern of patterns) {
      if (!this.#homes.has(pattern)) missing.push(pattern);
      yield;
    }
    yield* this.#compile(missing);
    let sets = yield* this.#setsOf(patterns);
    const enough = patterns.length / SET_SIZE + this.#fewestSets + SPREAD_LIMIT;
    if (sets.size > enough) {
      // After many small changes the list is spread over many small sets, each of which costs a pass.
      yield* this.#compile(patterns);
      sets = yield* this.#setsOf(patterns);
      this.#fewestSets = sets.size;
    }
    return yield* RegexSet.of(sets, patterns);
  }

  *#setsOf(patterns: readonly string[]): Steps<Set<Compiled>> {
    const sets = new Set<Compiled>();
    for (const pattern of patterns) {
      const home = this.#homes.get(pattern);
      if (home) sets.add(home);
      yield;
    }
    return sets;
  }

  *#compile(patterns: readonly string[]): Steps<void> {
    for (let from = 0; from < patterns.length; from += SET_SIZE) {
      yield* this.#compileSet(patterns.slice(from, from + SET_SIZE));
      yield;
    }
  }

  *#compileSet(patterns: readonly string[]): Steps<void> {
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
      // The engine does not report which pattern is invalid. A parse error leaks no memory.
      for (const pattern of patterns) {
        const text = this.check(pattern);
        if (text !== undefined) throw new RegexError(pattern, text, { cause: error });
      }
      throw new WeirError('regex_engine', messageOf(error), { cause: error });
    }
  }
}

/** A compiled set, and the position of each of its patterns in the list, -1 for those that are not in it. */
interface IndexedSet {
  readonly engine: RRegexSet;
  readonly indices: Int32Array;
}

/** Compiled patterns, matched together. Matching is unanchored and takes linear time. */
export class RegexSet {
  readonly #sets: readonly IndexedSet[];

  private constructor(sets: readonly IndexedSet[]) {
    this.#sets = sets;
  }

  /** Creates a matcher; called by RegexCache. @param sets may contain patterns that are not in the list */
  static *of(sets: Iterable<Compiled>, patterns: readonly string[]): Steps<RegexSet> {
    // A pattern that is in two sets after a recompilation is reported by one of them only.
    const left = new Map<string, number>();
    for (const [index, pattern] of patterns.entries()) {
      left.set(pattern, index);
      yield;
    }
    const indexed: IndexedSet[] = [];
    for (const { engine, patterns: held } of sets) {
      const indices = new Int32Array(held.length);
      for (const [at, pattern] of held.entries()) {
        indices[at] = left.get(pattern) ?? -1;
        left.delete(pattern);
      }
      indexed.push({ engine, indices });
      yield;
    }
    return new RegexSet(indexed);
  }

  /** Positions in the list of the patterns that match, in any order. */
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
