import type { ClashDelay, ClashProxyState } from '../contract.ts';

/** Results that are kept of one proxy and URL, as in mihomo. */
const MOST_RESULTS = 10;
/** URLs of one proxy; the one that was used least lately gives way. */
const MOST_URLS = 8;
/** Proxies; nodes of subscriptions come and go. */
const MOST_PROXIES = 10_000;

/** The delays of one proxy. */
export interface ProxyDelays extends ClashProxyState {
  /** By URL. */
  readonly extra: Readonly<Record<string, ClashProxyState>>;
}

interface Kept {
  readonly all: ClashDelay[];
  alive: boolean;
  readonly urls: Map<string, { alive: boolean; readonly history: ClashDelay[] }>;
}

const NOTHING: ProxyDelays = { alive: true, history: [], extra: {} };

/** The results of delay tests, by the proxy's name. A proxy that was never tested counts as alive. */
export class DelayHistory {
  readonly #proxies = new Map<string, Kept>();
  readonly #now: () => number;

  /** @param now Unix milliseconds */
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
   * @param delay milliseconds; `undefined` for a failed test
   * @param isExpected whether the status was: an unexpected one is a failure of that URL alone
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

/** The entry, moved to the end of the map; beyond `most` the first one is removed. */
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
