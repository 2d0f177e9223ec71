import type { LogLevel } from '@weir/base/log';
import { LOG_LEVELS, type LogEntry, type LogStore } from '@weir/client/monitor';

/** The selection of log lines that a page shows. */
export interface ShownLines {
  readonly level: LogLevel;
  /** Prefix of the targets; empty for all. */
  readonly target: string;
  /** Substring of the message, the target or a field, in any case; empty for all. */
  readonly text: string;
}

/**
 * The entries of a store that match a selection, updated with work for new entries alone. Gaps of lost lines are part
 * of every selection: some of the lines may have matched.
 */
export class FilteredLog {
  readonly #store: LogStore;
  readonly #selects: (entry: LogEntry) => boolean;
  #entries: readonly LogEntry[] = [];
  /** The id of the next entry to examine. */
  #next = 0;

  constructor(store: LogStore, selection: ShownLines) {
    this.#store = store;
    this.#selects = selects(selection);
  }

  /** The matching entries, oldest first. */
  current(): readonly LogEntry[] {
    const { first, end } = this.#store;
    if (this.#next === end) return this.#entries;
    const kept = this.#entries.findIndex(({ id }) => id >= first);
    const before = kept < 0 ? [] : this.#entries.slice(kept);
    this.#entries = [...before, ...this.#store.from(this.#next).filter(this.#selects)];
    this.#next = end;
    return this.#entries;
  }
}

function selects({ level, target, text }: ShownLines): (entry: LogEntry) => boolean {
  const most = LOG_LEVELS.indexOf(level);
  const wanted = text.toLowerCase();
  return (entry) =>
    entry.kind === 'lost' ||
    (LOG_LEVELS.indexOf(entry.level) <= most &&
      entry.target.startsWith(target) &&
      (wanted === '' ||
        entry.message.toLowerCase().includes(wanted) ||
        entry.target.toLowerCase().includes(wanted) ||
        Object.values(entry.fields).some((value) => String(value).toLowerCase().includes(wanted))));
}
