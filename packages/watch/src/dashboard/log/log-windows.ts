import { LRUCache } from 'lru-cache';
import { FilteredLog, type ShownLines } from './filtered-log.ts';
import type { LogEntry, LogStore } from '@weir/client/monitor';
import { MAX_ROWS } from '../shared/window.ts';

/** The window of a selection that a page shows. */
export interface WantedRows {
  /** Index of the first row; `undefined` for the last rows. */
  readonly first: number | undefined;
  readonly until: number | undefined;
}

export interface LogWindow {
  readonly first: number;
  readonly total: number;
  readonly entries: readonly LogEntry[];
  /** Number of selected entries after `until`. */
  readonly later: number;
}

/** Maximum number of cached selections and stopped lists: the pages of one reader seldom have more. */
const MAX_KEPT = 8;

/** Windows onto the log for pages with different selections, some of which have stopped following. */
export class LogWindows {
  readonly #store: LogStore;
  readonly #filtered = new LRUCache<string, FilteredLog>({ max: MAX_KEPT });
  /** Lists as they were when a page stopped: entries that the store drops meanwhile stay in their places. */
  readonly #stopped = new LRUCache<string, readonly LogEntry[]>({ max: MAX_KEPT });

  constructor(store: LogStore) {
    this.#store = store;
  }

  window(selection: ShownLines, { first, until }: WantedRows): LogWindow {
    const { level, target, text } = selection;
    const key = JSON.stringify([level, target, text]);
    const current = recent(this.#filtered, key, () => new FilteredLog(this.#store, selection));
    const all = current.current();
    const entries =
      until === undefined
        ? all
        : recent(this.#stopped, `${until} ${key}`, () => all.slice(0, countUntil(all, until)));
    const last = Math.max(0, entries.length - MAX_ROWS);
    const start = Math.min(first ?? last, last);
    return {
      first: start,
      total: entries.length,
      entries: entries.slice(start, start + MAX_ROWS),
      later: until === undefined ? 0 : all.length - countUntil(all, until),
    };
  }
}

/** The number of entries with an id up to `until`. */
function countUntil(entries: readonly LogEntry[], until: number): number {
  const index = entries.findLastIndex(({ id }) => id <= until);
  return index + 1;
}

/** Returns the value of a key, and creates it if missing. */
function recent<T extends object>(kept: LRUCache<string, T>, key: string, make: () => T): T {
  const value = kept.get(key) ?? make();
  kept.set(key, value);
  return value;
}
