import { LRUCache } from 'lru-cache';
import type { OutboundFlows } from '../../fetch/outbound-flows.ts';
import type { ByteLink } from '../../net/links/link.ts';
import type { Clock } from '../../net/time/clock.ts';
import { Deadline } from '../../net/time/deadline.ts';
import { exchange, UrlLinks } from '../../probe/exchange.ts';
import { isExpected, type StatusRanges } from './expected-status.ts';
import type { DelayHistory } from './history.ts';
import { TestQueue } from './test-queue.ts';

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
  readonly #queue = new TestQueue(AT_ONCE);
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
