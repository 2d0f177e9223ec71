import type { LoggedLine } from '@weir/server/control';
import type { LogLevel } from '@weir/base/log';

export interface LogStoreLimits {
  readonly entries: number;
  /** Maximum characters of all lines. */
  readonly characters: number;
}

/** Limits of the dashboard's log. */
const LIMITS: LogStoreLimits = { entries: 5_000, characters: 8 << 20 };

/** The last lines of a log, in order, with the gaps of lost lines. */
export class LogStore {
  readonly #limits: LogStoreLimits;
  #entries: LogEntry[] = [];
  /** Number of dropped entries at the start of the array: removing each would move the others. */
  #gone = 0;
  #characters = 0;
  #nextId = 1;
  #lost = 0;

  constructor(limits: LogStoreLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Number of lines lost since the start, as far as it is known. */
  get lost(): number {
    return this.#lost;
  }

  /** The id of the oldest entry, and of the one after the newest. */
  get first(): number {
    return this.#entries[this.#gone]?.id ?? this.#nextId;
  }

  get end(): number {
    return this.#nextId;
  }

  push(line: LoggedLine): LogEntry {
    return this.#add({ ...line, id: this.#nextId++ });
  }

  /** Adds a gap of lost lines. @param lost `undefined` if their number is unknown */
  pushLost(at: number, lost: number | undefined): LogEntry {
    this.#lost += lost ?? 0;
    return this.#add({ kind: 'lost', id: this.#nextId++, at, lost });
  }

  /** The entries from an id, oldest first. */
  *from(id: number): Generator<LogEntry> {
    for (let at = Math.max(this.#gone, this.#indexOf(id)); at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (entry) yield entry;
    }
  }

  /** Index of the first entry with this id or a later one. */
  #indexOf(id: number): number {
    let [low, high] = [this.#gone, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.id ?? 0) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #add(entry: LogEntry): LogEntry {
    this.#entries.push(entry);
    this.#characters += sizeOf(entry);
    const { entries, characters } = this.#limits;
    while (
      this.#entries.length - this.#gone > entries ||
      (this.#characters > characters && this.#entries.length - this.#gone > 1)
    ) {
      this.#characters -= sizeOf(this.#entries[this.#gone++]);
    }
    if (this.#gone > entries) {
      this.#entries = this.#entries.slice(this.#gone);
      this.#gone = 0;
    }
    return entry;
  }
}

const sizeOf = (entry: LogEntry | undefined): number =>
  entry?.kind === 'line' ? entry.message.length : 0;

/** An entry of the log: a line, or a gap of lost lines. */
export type LogEntry =
  | (LoggedLine & { readonly id: number })
  | {
      readonly kind: 'lost';
      readonly id: number;
      readonly at: number;
      /** Number of lost lines; `undefined` if unknown, because the log was not followed for a time. */
      readonly lost: number | undefined;
    };

/** Levels in the order of verbosity, least verbose first. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const satisfies LogLevel[];
