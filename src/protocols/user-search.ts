import { LRUCache } from 'lru-cache';
import type { Clock } from '../net/clock.ts';
import { LinkClosedError, ProtocolError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import { onClosed } from '../net/on-closed.ts';
import { abortReason } from '../net/read-queue.ts';
import type { InboundContext } from './contract.ts';
import { type KnownUsers, sourceGroup } from './known-users.ts';
import { SearchBudget } from './search-budget.ts';

/** The longest that a search holds up everything else at a time. */
const SLICE_MS = 1;
/** Searches that may wait. */
const MOST_WAITING = 1024;
/** How long a search that found no user counts against its source. */
const FAILURE_MS = 60_000;
/** Sources of which failures are counted. */
const MOST_FAILED = 4096;

/** For whom a user is looked for: the search ends with the link, and when the time is over. */
export interface WaitingClient {
  readonly link: Pick<ByteLink, 'closed'>;
  readonly signal: AbortSignal;
}

interface Search<User> {
  readonly group: string;
  readonly fits: (user: User) => boolean;
  readonly settle: (found: User | undefined) => void;
  readonly refuse: (error: Error) => void;
  /** The next user to be tried. */
  next: number;
}

interface Failures {
  readonly count: number;
  readonly lastAt: number;
}

/**
 * Finds the user that a stream belongs to where only trying the key of each can tell.
 *
 * Users that came from the same source before are tried at once. Everything else is at the expense
 * of a budget that clients share, since whoever connects can ask for it: searches go on in slices,
 * one a turn of the event loop, and wait while the budget is spent. Those of sources with the fewest
 * failures go first, sources take turns, so that a source with many clients delays its own most.
 */
export class UserSearch<User> {
  readonly #known: KnownUsers<User>;
  readonly #clock: Clock;
  readonly #budget: SearchBudget;
  /** By source, in the order of their turns. */
  readonly #waiting = new Map<string, Search<User>[]>();
  readonly #failures = new LRUCache<string, Failures>({ max: MOST_FAILED });
  readonly #limit: number;
  #waitingCount = 0;
  #active: Search<User> | undefined;
  #scheduled = false;

  /** @param limit of searches that wait. */
  constructor(
    known: KnownUsers<User>,
    { clock, memory }: Pick<InboundContext, 'clock' | 'memory'>,
    limit = MOST_WAITING,
  ) {
    this.#known = known;
    this.#clock = clock;
    this.#budget = memory.recall('user searches', SearchBudget, () => new SearchBudget(clock));
    this.#limit = limit;
  }

  /**
   * The user whom `fits` accepts; `undefined` for none. The caller says whom to remember.
   *
   * @throws {ProtocolError} when too many searches wait.
   * @throws {LinkClosedError} when the link is destroyed.
   * @throws the signal's reason, when it aborts.
   */
  async find(
    source: string | undefined,
    fits: (user: User) => boolean,
    { link, signal }: WaitingClient,
  ): Promise<User | undefined> {
    const { all } = this.#known;
    const known = this.#known.from(source, fits);
    if (known !== undefined || all.length === 0) return known;
    const [single] = all;
    if (single !== undefined && all.length === 1) return fits(single) ? single : undefined;
    if (signal.aborted) throw abortReason(signal);
    const { promise, resolve, reject } = Promise.withResolvers<User | undefined>();
    const search: Search<User> = {
      group: sourceGroup(source),
      fits,
      settle: resolve,
      refuse: reject,
      next: 0,
    };
    const giveUp = (reason: Error): void => {
      this.#drop(search);
      reject(reason);
    };
    const onAbort = (): void => giveUp(abortReason(signal));
    const forgetLink = onClosed(link.closed, () => giveUp(new LinkClosedError()));
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
    if (this.#waitingCount > this.#limit) this.#refuseWorst();
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

  /** Refuses the newest search of the source that failed most, then of the one that waits most. */
  #refuseWorst(): void {
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
    worst.search.refuse(new ProtocolError('too many clients wait for their user to be found'));
  }

  /** Begins the search whose turn it is. */
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
    if (own.length > 0) this.#waiting.set(search.group, own); // behind the other sources
    return search;
  }

  /** @param milliseconds to wait; 0 is the next turn of the event loop. */
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
      if (!search) return;
      this.#step(search);
    } while (this.#clock.now() < end);
  }

  /** Tries one user, or ends a search that has tried all. */
  #step(search: Search<User>): void {
    const user = this.#known.all[search.next++];
    try {
      if (user !== undefined && !search.fits(user)) return;
    } catch (error) {
      this.#active = undefined;
      search.refuse(error instanceof Error ? error : new ProtocolError(String(error)));
      return;
    }
    this.#active = undefined;
    if (user === undefined) this.#countFailure(search.group);
    search.settle(user);
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

/** Like two numbers, the first ones first. */
const compare = (one: readonly [number, number], other: readonly [number, number]): number =>
  one[0] - other[0] || one[1] - other[1];
