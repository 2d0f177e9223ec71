import { LRUCache } from 'lru-cache';
/** Windows that are kept: of each page that watches, the last ones. */
const MOST_WINDOWS = 16;

/** A window of rows, as far as it is known. */
interface Window<Found> {
  /** What it was asked of; of another version it is asked for again. */
  version: unknown;
  found: Found | undefined;
  /** The version that `found` was asked of. */
  foundOf: unknown;
}

/** What a page is shown of a window. */
export interface ShownWindow<Found> {
  /** The window, or what was shown last until it is there. */
  readonly shown: Found | undefined;
  /** Whether a newer one will follow. */
  readonly pending: boolean;
}

/** Windows of rows that a FileWorker has: a view shows what is known, and asks for the rest. */
export class AskedWindows<Wanted, Found> {
  readonly #ask: (wanted: Wanted) => Promise<Found>;
  readonly #onFound: () => void;
  /** By what is wanted. */
  readonly #windows = new LRUCache<string, Window<Found>>({ max: MOST_WINDOWS });
  #last: Found | undefined;

  /**
   * @param ask fails when the file has become invalid, which is reported elsewhere
   * @param onFound views have changed
   */
  constructor(ask: (wanted: Wanted) => Promise<Found>, onFound: () => void) {
    this.#ask = ask;
    this.#onFound = onFound;
  }

  /** @param version of what is asked; `undefined` while there is none */
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
      if (window.version !== version) return; // a newer one is on its way
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
