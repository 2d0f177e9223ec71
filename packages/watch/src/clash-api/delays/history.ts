import type { ClashDelay, ClashProxyState } from '../contract.ts';

/** Maximum number of results of a proxy and URL, as in mihomo. */
const MOST_RESULTS = 10;
/** Maximum number of URLs of a proxy; beyond it the least recently used one is evicted. */
const MOST_URLS = 8;
/** Maximum number of proxies; nodes of subscriptions come and go. */
const MOST_PROXIES = 10_000;

/** The results of a proxy. */
export interface ProxyDelays extends ClashProxyState {
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
   * Adds a result. @param delay milliseconds; `undefined` for a failed test
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
