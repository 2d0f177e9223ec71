import { LRUCache } from 'lru-cache';
/** Maximum number of cached windows: the last ones of each page that watches. */
const MOST_WINDOWS = 16;

/** A cached window of rows and its state. */
interface Window<Found> {
  /** The version that the window was last requested for. */
  version: unknown;
  found: Found | undefined;
  /** The version that `found` belongs to. */
  foundOf: unknown;
}

/** A window as a page shows it. */
export interface ShownWindow<Found> {
  /** The requested window; until it is there, the one shown last. */
  readonly shown: Found | undefined;
  /** Whether a newer result will follow. */
  readonly pending: boolean;
}

/** Caches windows of rows that a FileWorker computes: `of` returns what is known, and requests the rest. */
export class AskedWindows<Wanted, Found> {
  readonly #ask: (wanted: Wanted) => Promise<Found>;
  readonly #onFound: () => void;
  /** Windows by the JSON of their parameters. */
  readonly #windows = new LRUCache<string, Window<Found>>({ max: MOST_WINDOWS });
  #last: Found | undefined;

  /**
   * @param ask rejects when the file has become invalid, which is reported elsewhere
   * @param onFound called when a window has arrived
   */
  constructor(ask: (wanted: Wanted) => Promise<Found>, onFound: () => void) {
    this.#ask = ask;
    this.#onFound = onFound;
  }

  /** @param version of the file; `undefined` while there is none */
  of(wanted: Wanted, version: unknown): ShownWindow<Found> {
    if (version === undefined) return { shown: this.#last, pending: false };
    const key = JSON.stringify(wanted);
    const window: Window<Found> = this.#windows.get(key) ?? NEW();
    this.#windows.set(key, window);
    if (window.version !== version) void this.#fill(window, wanted, version);
    return { shown: window.found ?? this.#last, pending: window.foundOf !== version };
  }

  async #fill(window: Window<Found>, wanted: Wanted, version: unknown): Promise<void> {
    window.version = version;
    try {
      const found = await this.#ask(wanted);
      if (window.version !== version) return; // a newer one has been requested
      window.found = found;
      window.foundOf = version;
      this.#last = found;
    } catch {
      window.version = undefined;
      return;
    }
    this.#onFound();
  }
}

const NEW = (): Window<never> => ({ version: undefined, found: undefined, foundOf: undefined });
