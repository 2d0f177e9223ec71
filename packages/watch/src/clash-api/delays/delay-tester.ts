import { LRUCache } from 'lru-cache';
import { WeirError } from '@weir/base';
import { type OpenedFlow, type OutboundFlows, RunningOutbounds } from '@weir/nodes/fetch';
import type { Endpoint } from '@weir/io/addresses';
import type { ByteLink } from '@weir/io/links';
import { type Clock, Deadline, unlessAborted } from '@weir/io/time';
import { exchange, UrlLinks } from '@weir/nodes/probe';
import type { WatchedWeir } from '../fact-reader.ts';
import { isExpected, type StatusRanges } from './expected-status.ts';
import type { DelayHistory } from './history.ts';

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

export type DelayOutcome =
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
