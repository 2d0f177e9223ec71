import { LRUCache } from 'lru-cache';
import { asError } from '@weir/base';
import { type Clock, abortReason } from '@weir/io/time';
import { LinkClosedError, ProtocolError } from '@weir/io';
import { type ByteLink, onClosed } from '@weir/io/links';
import type { InboundContext } from '../contract.ts';
import { sourceGroup } from '@weir/io/bounds';
import type { KnownUsers } from './known-users.ts';

/** The share of time that searches may take in the long run. */
const SHARE = 0.2;
/** Milliseconds that accumulate at most while there are no searches. */
const MOST_SAVED_MS = 20;

/**
 * Bounds the time of searches for the sender of a message: an unauthenticated client can cause one
 * from any source address, and among many users each takes milliseconds in which no other client is
 * served.
 *
 * A search that exceeds the budget reduces the time for the next ones.
 */
export class SearchBudget {
  readonly #clock: Clock;
  #left = MOST_SAVED_MS;
  #countedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedAt = clock.now();
  }

  /** Runs a search and returns its result; `undefined`, without a search, when no time is left. */
  spend<T>(search: () => T | undefined): T | undefined {
    const began = this.#clock.now();
    const earned = (began - this.#countedAt) * SHARE;
    this.#countedAt = began;
    this.#left = Math.min(MOST_SAVED_MS, this.#left + earned);
    if (this.#left <= 0) return undefined;
    try {
      return search();
    } finally {
      this.#left -= this.#clock.now() - began;
    }
  }

  /** Returns the milliseconds after the last search until the budget allows one of this length. */
  waitFor(milliseconds: number): number {
    return Math.max(0, (milliseconds - this.#left) / SHARE);
  }
}

/** Longest time in milliseconds that searches block the event loop. */
const SLICE_MS = 1;
/** Searches that may be queued. */
const MAX_WAITING = 1024;

export interface UserSearchOptions {
  /** Searches that may be queued. */
  readonly limit?: number;
  /** Name of the budget, which all searches with this name share, also those of successive handlers. */
  readonly budget?: string;
}

/** Milliseconds for which a search without a result counts against its source. */
const FAILURE_MS = 60_000;
/** Sources whose failures are counted. */
const MAX_FAILED = 4096;

/** The client of a search. The search ends when the link closes or the signal aborts. */
export interface WaitingClient {
  readonly link: Pick<ByteLink, 'closed'>;
  readonly signal: AbortSignal;
}

interface Search<User> {
  readonly source: string | undefined;
  readonly group: string;
  readonly fits: (user: User) => boolean;
  readonly settle: (found: User | undefined) => void;
  readonly reject: (error: Error) => void;
  /** Index of the next user to be tried. */
  next: number;
}

interface Failures {
  readonly count: number;
  readonly lastAt: number;
}

/**
 * Finds the user of a stream or a datagram by trying the key of each.
 *
 * The known users of the source are tried at once. Other searches share a budget, since unauthenticated clients can
 * cause them: they run in slices, one in each turn of the event loop, and wait while the budget is exhausted. Sources
 * with the fewest failures go first and take turns, so that a source with many clients delays mostly its own. A search
 * that had to wait begins with the known users again: a client often sends several messages at once, and the first
 * search may have found its user.
 */
export class UserSearch<User> {
  readonly #known: KnownUsers<User>;
  readonly #clock: Clock;
  readonly #budget: SearchBudget;
  /** Queued searches by source, in the order of their turns. */
  readonly #waiting = new Map<string, Search<User>[]>();
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_FAILED });
  readonly #limit: number;
  #waitingCount = 0;
  #active: Search<User> | undefined;
  #scheduled = false;

  constructor(
    known: KnownUsers<User>,
    { clock, memory }: Pick<InboundContext, 'clock' | 'memory'>,
    { limit = MAX_WAITING, budget = 'user searches' }: UserSearchOptions = {},
  ) {
    this.#known = known;
    this.#clock = clock;
    this.#budget = memory.recall(budget, SearchBudget, () => new SearchBudget(clock));
    this.#limit = limit;
  }

  /**
   * Returns the user that `fits` accepts, among those that can be tried at once: the known users of the source, or the
   * only user.
   */
  immediately(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    const { all } = this.#known;
    const [single] = all;
    if (single !== undefined && all.length === 1) return fits(single) ? single : undefined;
    return this.#known.from(source, fits);
  }

  /**
   * Finds the user that `fits` accepts; `undefined` for none. The caller adds the user to the known ones.
   *
   * @throws {ProtocolError} when too many searches are queued.
   * @throws {LinkClosedError} when the link is destroyed.
   * @throws the signal's reason, when it aborts.
   */
  async find(
    source: string | undefined,
    fits: (user: User) => boolean,
    { link, signal }: WaitingClient,
  ): Promise<User | undefined> {
    const known = this.immediately(source, fits);
    if (known !== undefined || this.#known.all.length < 2) return known;
    return this.search(source, fits, { link, signal });
  }

  /** Continues `find`, for several users, when `immediately` has found none. */
  async search(
    source: string | undefined,
    fits: (user: User) => boolean,
    { link, signal }: WaitingClient,
  ): Promise<User | undefined> {
    if (signal.aborted) throw abortReason(signal);
    const { promise, resolve, reject } = Promise.withResolvers<User | undefined>();
    const search: Search<User> = {
      source,
      group: sourceGroup(source),
      fits,
      settle: resolve,
      reject,
      next: 0,
    };
    const abandon = (reason: Error): void => {
      this.#drop(search);
      reject(reason);
    };
    const onAbort = (): void => abandon(abortReason(signal));
    const forgetLink = onClosed(link.closed, () => abandon(new LinkClosedError()));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#add(search);
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      forgetLink();
    }
  }

  #add(search: Search<User>): void {
    const own = this.#waiting.get(search.group);
    if (own) own.push(search);
    else this.#waiting.set(search.group, [search]);
    this.#waitingCount++;
    if (this.#waitingCount > this.#limit) this.#rejectWorst();
    this.#schedule(0);
  }

  #drop(search: Search<User>): void {
    if (this.#active === search) this.#active = undefined;
    const own = this.#waiting.get(search.group);
    const at = own?.indexOf(search) ?? -1;
    if (!own || at < 0) return;
    own.splice(at, 1);
    if (own.length === 0) this.#waiting.delete(search.group);
    this.#waitingCount--;
  }

  /**
   * Rejects the newest search of the source with the most failures; of several, of the one with the
   * most searches.
   */
  #rejectWorst(): void {
    let worst:
      | { readonly search: Search<User>; readonly rank: readonly [number, number] }
      | undefined;
    for (const [group, own] of this.#waiting) {
      const newest = own.at(-1);
      const rank = [this.#failuresOf(group), own.length] as const;
      if (newest && (!worst || compare(rank, worst.rank) >= 0)) worst = { search: newest, rank };
    }
    if (!worst) return;
    this.#drop(worst.search);
    worst.search.reject(new ProtocolError('too many searches for users are waiting'));
  }

  /** Removes and returns the search whose turn it is. */
  #take(): Search<User> | undefined {
    let best: { readonly group: string; readonly failures: number } | undefined;
    for (const group of this.#waiting.keys()) {
      const failures = this.#failuresOf(group);
      if (!best || failures < best.failures) best = { group, failures };
      if (failures === 0) break;
    }
    const own = best && this.#waiting.get(best.group);
    const search = own?.shift();
    if (!own || !search) return undefined;
    this.#waitingCount--;
    this.#waiting.delete(search.group);
    if (own.length > 0) this.#waiting.set(search.group, own); // after the other sources
    return search;
  }

  /**
   * Schedules a slice.
   * @param milliseconds to wait; 0 is the next turn of the event loop.
   */
  #schedule(milliseconds: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const run = (): void => {
      this.#scheduled = false;
      this.#run();
    };
    if (milliseconds > 0) this.#clock.after(milliseconds, run);
    else setImmediate(run);
  }

  #run(): void {
    const done = this.#budget.spend(() => {
      this.#slice();
      return true;
    });
    if (!this.#active && this.#waitingCount === 0) return;
    this.#schedule(done ? 0 : this.#budget.waitFor(SLICE_MS));
  }

  #slice(): void {
    const end = this.#clock.now() + SLICE_MS;
    do {
      const search = (this.#active ??= this.#take());
      // After a success the caller adds the user to the known ones before the next search begins.
      if (!search || this.#step(search)) return;
    } while (this.#clock.now() < end);
  }

  /** Tries one user, or ends a search that has tried all. @returns true when a user was found. */
  #step(search: Search<User>): boolean {
    let user: User | undefined;
    try {
      if (search.next === 0) user = this.#known.from(search.source, search.fits);
      if (user === undefined) {
        user = this.#known.all[search.next++];
        if (user !== undefined && !search.fits(user)) return false;
      }
    } catch (error) {
      this.#active = undefined;
      search.reject(asError(error));
      return false;
    }
    this.#active = undefined;
    if (user === undefined) this.#countFailure(search.group);
    search.settle(user);
    return user !== undefined;
  }

  #countFailure(group: string): void {
    const count = this.#failuresOf(group) + 1;
    this.#failures.set(group, { count, lastAt: this.#clock.now() });
  }

  #failuresOf(group: string): number {
    const failures = this.#failures.peek(group);
    return failures && this.#clock.now() - failures.lastAt < FAILURE_MS ? failures.count : 0;
  }
}

/** Compares the first numbers, then the second ones. */
const compare = (one: readonly [number, number], other: readonly [number, number]): number =>
  one[0] - other[0] || one[1] - other[1];
