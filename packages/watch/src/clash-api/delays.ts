import type { ClashDelay, ClashProxyState } from './contract.ts';
import { LRUCache } from 'lru-cache';
import { WeirError } from '@weir/base';
import { type OpenedFlow, type OutboundFlows, RunningOutbounds } from '@weir/nodes/fetch';
import type { Endpoint } from '@weir/io/addresses';
import type { ByteLink } from '@weir/io/links';
import { type Clock, Deadline, unlessAborted } from '@weir/io/time';
import { exchange, UrlLinks } from '@weir/nodes/probe';
import type { WatchedWeir } from './fact-reader.ts';

/** Inclusive ranges of HTTP statuses. */
type StatusRanges = readonly { readonly low: number; readonly high: number }[];

/** Maximum number of ranges, as in mihomo. */
const MOST_RANGES = 28;

const NUMBER = /^[0-9]{1,5}$/;

/**
 * Parses `expected` of a delay test: `200/204-299`, also with commas; empty and `*` accept every status.
 *
 * @returns the ranges, none for every status; `undefined` for invalid text
 */
export function parseExpected(text: string): StatusRanges | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === '*') return [];
  const parts = trimmed.replaceAll(',', '/').split('/', MOST_RANGES + 1);
  if (parts.length > MOST_RANGES) return undefined;
  const ranges: { low: number; high: number }[] = [];
  for (const part of parts) {
    if (part === '') continue;
    const [low, high = low, ...rest] = part.split('-', 3).map(numberOf);
    if (low === undefined || high === undefined || rest.length > 0) return undefined;
    ranges.push({ low, high });
  }
  return ranges;
}

function numberOf(text: string): number | undefined {
  const bare = text.replaceAll(/[[\] ]/g, '');
  return NUMBER.test(bare) ? Number(bare) : undefined;
}

export const isExpected = (ranges: StatusRanges, status: number): boolean =>
  ranges.length === 0 || ranges.some(({ low, high }) => status >= low && status <= high);

/** Maximum number of results of a proxy and URL, as in mihomo. */
const MOST_RESULTS = 10;
/** Maximum number of URLs of a proxy; beyond it the least recently used one is evicted. */
const MOST_URLS = 8;
/** Maximum number of proxies; nodes of subscriptions come and go. */
const MOST_PROXIES = 10_000;

/** The results of a proxy. */
interface ProxyDelays extends ClashProxyState {
  /** Results by URL. */
  readonly extra: Readonly<Record<string, ClashProxyState>>;
}

interface Kept {
  readonly all: ClashDelay[];
  alive: boolean;
  readonly urls: Map<string, { alive: boolean; readonly history: ClashDelay[] }>;
}

const NOTHING: ProxyDelays = { alive: true, history: [], extra: {} };

/** The results of delay tests, by the name of the proxy. A proxy without a test counts as alive. */
export class DelayHistory {
  readonly #proxies = new Map<string, Kept>();
  readonly #now: () => number;

  /** @param now returns Unix milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  of(name: string): ProxyDelays {
    const kept = this.#proxies.get(name);
    if (!kept) return NOTHING;
    const { all, alive, urls } = kept;
    return { alive, history: [...all], extra: Object.fromEntries(urls) };
  }

  /**
   * Adds a result.
   *
   * @param delay milliseconds; `undefined` for a failed test
   * @param isExpected whether the status was expected: an unexpected one is a failure of that URL alone
   */
  add(name: string, url: string, delay: number | undefined, isExpected: boolean): void {
    const kept = lately(this.#proxies, name, MOST_PROXIES, () => ({
      all: [],
      alive: true,
      urls: new Map(),
    }));
    const time = new Date(this.#now()).toISOString();
    kept.alive = delay !== undefined;
    push(kept.all, { time, delay: delay ?? 0 });
    const state = lately(kept.urls, url, MOST_URLS, () => ({ alive: true, history: [] }));
    const isGood = delay !== undefined && isExpected;
    state.alive = isGood;
    push(state.history, { time, delay: isGood ? delay : 0 });
  }
}

/**
 * Returns an entry of a map, which is created if missing and becomes the most recent one; beyond `most` the oldest one
 * is evicted.
 */
function lately<T>(map: Map<string, T>, key: string, most: number, create: () => T): T {
  const found = map.get(key) ?? create();
  map.delete(key);
  map.set(key, found);
  if (map.size > most) {
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  }
  return found;
}

function push(history: ClashDelay[], result: ClashDelay): void {
  history.push(result);
  if (history.length > MOST_RESULTS) history.shift();
}

/** Maximum number of concurrent tests of all clients: more would measure each other. */
const AT_ONCE = 32;
/** Maximum number of URLs whose certificates stay loaded. */
const KEPT_URLS = 8;

/** Parameters of a delay test, as requested by a client. */
export interface DelayTest {
  readonly url: string;
  readonly timeoutMs: number;
  /** Statuses that count as alive; empty for all. */
  readonly expected: StatusRanges;
}

/** A proxy to test. */
export interface DelaySubject {
  /** The proxy's name on the controller. */
  readonly name: string;
  /** The tag of the outbound or balancer that it resolves to; `undefined` if there is none. */
  readonly tag: string | undefined;
}

type DelayOutcome =
  /** Delay in milliseconds, at least 1. */
  | { readonly kind: 'measured'; readonly delay: number }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'failed' };

const FAILED: DelayOutcome = { kind: 'failed' };

/**
 * Measures delays as mihomo does: from the start of the dial to the head of the response to one HEAD request, over a
 * new flow. Any status counts as alive; an unexpected one is recorded as a failure of that URL alone.
 */
export class DelayTester {
  readonly #flows: OutboundFlows;
  readonly #clock: Clock;
  readonly #history: DelayHistory;
  readonly #queue = new Semaphore(AT_ONCE);
  readonly #links = new LRUCache<string, UrlLinks>({ max: KEPT_URLS });

  constructor(flows: OutboundFlows, clock: Clock, history: DelayHistory) {
    this.#flows = flows;
    this.#clock = clock;
    this.#history = history;
  }

  /** Tests proxies concurrently, within one time limit. Never rejects. */
  async test(
    subjects: readonly DelaySubject[],
    test: DelayTest,
  ): Promise<ReadonlyMap<string, DelayOutcome>> {
    using deadline = new Deadline(this.#clock, Math.max(0, test.timeoutMs), 'the delay test');
    const { signal } = deadline;
    if (test.timeoutMs <= 0) deadline.abort(new RangeError('no time'));
    const outcomes = subjects.map(async (subject) => {
      return [subject.name, await this.#testOne(subject, test, signal)] as const;
    });
    return new Map(await Promise.all(outcomes));
  }

  async #testOne(
    { name, tag }: DelaySubject,
    { url, expected }: DelayTest,
    signal: AbortSignal,
  ): Promise<DelayOutcome> {
    const record = (delay: number | undefined, isGood: boolean): void =>
      this.#history.add(name, url, delay, isGood);
    try {
      const links = this.#linksOf(url);
      if (!links || tag === undefined) {
        record(undefined, false);
        return FAILED;
      }
      const { delay, status } = await this.#queue.run(
        () => this.#measure(tag, links, signal),
        signal,
      );
      record(delay, isExpected(expected, status));
      return { kind: 'measured', delay };
    } catch {
      // Weir's log has the reason; the controller has no field for it.
      record(undefined, false);
      return signal.aborted ? { kind: 'timeout' } : FAILED;
    }
  }

  async #measure(
    tag: string,
    links: UrlLinks,
    signal: AbortSignal,
  ): Promise<{ readonly delay: number; readonly status: number }> {
    const startedAt = this.#clock.now();
    const { link } = await this.#flows.open(tag, links.target, signal);
    let requests: ByteLink = link;
    try {
      requests = await links.over(link, signal);
      const { head } = await exchange(requests, 'HEAD', links.url, {
        signal,
        accepts: () => true,
      });
      // 0 stands for a failed test.
      const delay = Math.max(1, Math.round(this.#clock.now() - startedAt));
      return { delay, status: head.status };
    } finally {
      requests.destroy();
      link.destroy();
    }
  }

  /** The links of a URL; `undefined` unless it is an HTTP URL. */
  #linksOf(text: string): UrlLinks | undefined {
    const known = this.#links.get(text);
    if (known) return known;
    const url = URL.parse(text);
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
    const links = new UrlLinks(url, this.#clock);
    this.#links.set(text, links);
    return links;
  }
}

/** A semaphore that runs a limited number of tasks concurrently; further tasks wait in order. */
export class Semaphore {
  readonly #most: number;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs a task when its turn comes. @throws the reason of `signal` when it aborts before that */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running >= this.#most) await this.#turn(signal);
    else this.#running++;
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.#next();
    }
  }

  /** Waits for a slot, which a task that ends passes on to this one. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // The slot may have been passed on in the same turn of the event loop as the abort.
      if (!this.#waiting.delete(resolve)) this.#next();
      throw error;
    }
  }

  #next(): void {
    for (const resolve of this.#waiting) {
      this.#waiting.delete(resolve);
      resolve();
      return;
    }
    this.#running--;
  }
}

/** Opens flows through a running Weir, at its current control socket. */
export class FollowedOutbounds implements OutboundFlows {
  readonly #weir: Pick<WatchedWeir, 'socket'>;
  #last: { readonly socket: string; readonly flows: RunningOutbounds } | undefined;

  constructor(weir: Pick<WatchedWeir, 'socket'>) {
    this.#weir = weir;
  }

  /** @throws {WeirError} without a control socket */
  async open(outbound: string, target: Endpoint, signal: AbortSignal): Promise<OpenedFlow> {
    const { socket } = this.#weir;
    if (socket === undefined) throw new WeirError('no_socket', 'Weir has no control socket');
    if (this.#last?.socket !== socket) {
      await this[Symbol.asyncDispose]();
      this.#last = { socket, flows: new RunningOutbounds(socket) };
    }
    return this.#last.flows.open(outbound, target, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last?.flows[Symbol.asyncDispose]();
  }
}
