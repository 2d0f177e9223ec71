import type { LoggedLine, LogEvent } from '@weir/server/control';
import type { LogLevel } from '@weir/base/log';
import { Holds, Listeners } from '@weir/base/collections';
import { messageOf } from '@weir/base';
import type { Clock, Timer } from '@weir/io/time';
import { pause } from './pause.ts';

interface LogStoreLimits {
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

/** The state of following the log. Times are Unix milliseconds. */
type LogState =
  /** No page watches the log. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'following'; readonly since: number }
  /** The connection was lost and is retried. */
  | { readonly kind: 'lost'; readonly error: string; readonly since: number };

/**
 * Follows the log, starting with its latest lines, until the process ends.
 * @throws when it cannot be followed, or the signal is aborted
 */
type FollowLog = (signal: AbortSignal) => AsyncIterable<LogEvent>;

/** Milliseconds until the log is requested again after its end or an error. */
const RETRY_MS = 2_000;

/** Milliseconds from the first change until listeners are called. */
const TURN_MS = 100;

/** The log of the running Weir, followed once for all pages, and only while one of them watches it. */
export class SharedLog {
  readonly store = new LogStore();
  readonly #follow: FollowLog;
  readonly #clock: Clock;
  readonly #onEntry: (entry: LogEntry) => void;
  readonly #listeners = new Listeners();
  readonly #holds = new Holds(
    () => this.#start(),
    () => this.#stop(),
  );
  #running: AbortController | undefined;
  #state: LogState = { kind: 'idle' };
  /** Time of the last line. */
  #last: number | undefined;
  #turn: Timer | undefined;

  /** @param onEntry called once with each entry */
  constructor(follow: FollowLog, clock: Clock, onEntry: (entry: LogEntry) => void) {
    this.#follow = follow;
    this.#clock = clock;
    this.#onEntry = onEntry;
  }

  get state(): LogState {
    return this.#state;
  }

  hold(): Disposable {
    return this.#holds.hold();
  }

  /** Calls `listener` after changes of the state or the store, at most once in `TURN_MS`, until disposed. */
  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  #start(): void {
    this.#running = new AbortController();
    this.#set({ kind: 'connecting' });
    void this.#run(this.#running.signal);
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
    this.#set({ kind: 'idle' });
  }

  /** Follows the log until `signal` aborts. Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const error = await this.#followOnce(signal);
      if (signal.aborted) return;
      this.#set({ kind: 'lost', error, since: this.#lostSince() });
      await pause(this.#clock, RETRY_MS, signal);
    }
  }

  /** Follows the log once. @returns why it has ended */
  async #followOnce(signal: AbortSignal): Promise<string> {
    // The latest lines come first; known ones among them connect the new lines to those stored.
    const known = this.#last;
    let isJoined = known === undefined;
    let isLive = false;
    const join = (): void => {
      if (!isJoined) this.#addLost(undefined);
      isJoined = true;
    };
    try {
      for await (const event of this.#follow(signal)) {
        if (signal.aborted) break;
        if (event.kind === 'line' && !isLive && known !== undefined && event.at <= known) {
          isJoined = true;
          continue;
        }
        join();
        if (event.kind === 'lost') this.#addLost(event.count);
        else if (event.kind === 'line') this.#add(event);
        else {
          isLive = true;
          this.#set({ kind: 'following', since: this.#clock.wall() });
        }
      }
      return 'the process that writes it has ended';
    } catch (error) {
      return messageOf(error);
    }
  }

  #lostSince(): number {
    return this.#state.kind === 'lost' ? this.#state.since : this.#clock.wall();
  }

  #add(line: LoggedLine): void {
    this.#last = line.at;
    this.#onEntry(this.store.push(line));
    this.#changed();
  }

  #addLost(count: number | undefined): void {
    this.#onEntry(this.store.pushLost(this.#clock.wall(), count));
    this.#changed();
  }

  #set(state: LogState): void {
    this.#state = state;
    this.#changed();
  }

  #changed(): void {
    this.#turn ??= this.#clock.after(TURN_MS, () => {
      this.#turn = undefined;
      this.#listeners.call();
    });
  }
}

/** An outbound on which flows have failed, according to the log. */
export interface FailingOutbound {
  readonly outbound: string;
  /** Error of the last failure. */
  readonly cause: string;
  /** Destination of the last failure; `undefined` where the line has none. */
  readonly to: string | undefined;
  /** Index of the last failure's route rule; `undefined` for the default route. */
  readonly rule: number | undefined;
  /** Number of failed flows since `since`. */
  readonly count: number;
  readonly since: number;
  readonly last: number;
}

/** Maximum number of outbounds that are remembered. */
const MAX_OUTBOUNDS = 64;

/**
 * Milliseconds without a failure after which an outbound is not failing any more. Repetitions are logged once a minute.
 */
export const FAILING_MS = 120_000;

/** Counts failures of outbounds by the lines of the log, which are at `info`: see FailureLog of the engine. */
export class FailingOutbounds {
  /** Outbounds by tag; the one with the latest failure is last. */
  readonly #outbounds = new Map<string, FailingOutbound>();
  #others: { readonly count: number; readonly at: number } | undefined;

  note(entry: LogEntry): void {
    if (entry.kind !== 'line' || entry.level !== 'info') return;
    const { at, fields } = entry;
    const { outbound, error, repeated } = fields;
    if (outbound === undefined) {
      if (repeated === undefined) return;
      const before = this.othersAt(at);
      this.#others = { count: before + repeated, at };
      return;
    }
    // A rule has sent the flow there to be blocked, which is not a failure.
    if (error === undefined || error.endsWith(`blocked by outbound ${outbound}`)) return;
    const known = this.#outbounds.get(outbound);
    const before = known && at - known.last < FAILING_MS ? known : undefined;
    this.#outbounds.delete(outbound);
    this.#outbounds.set(outbound, {
      outbound,
      cause: error,
      to: destinationOf(fields),
      rule: fields.rule,
      count: (before?.count ?? 0) + (repeated ?? 1),
      since: before?.since ?? at,
      last: at,
    });
    if (this.#outbounds.size > MAX_OUTBOUNDS) {
      const [oldest = ''] = this.#outbounds.keys();
      this.#outbounds.delete(oldest);
    }
  }

  /** Outbounds that are failing at this time, the latest failure first. */
  at(now: number): readonly FailingOutbound[] {
    return [...this.#outbounds.values()].filter(({ last }) => now - last < FAILING_MS).toReversed();
  }

  /** Number of failures that the log only counts. */
  othersAt(now: number): number {
    return this.#others && now - this.#others.at < FAILING_MS ? this.#others.count : 0;
  }
}

function destinationOf({ host, port }: { host?: string | undefined; port?: number | undefined }) {
  if (host === undefined) return undefined;
  return port === undefined ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
