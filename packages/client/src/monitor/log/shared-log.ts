import { Holds, Listeners } from '@weir/base/collections';
import type { LogEvent, LoggedLine } from '@weir/server/control';
import { messageOf } from '@weir/base';
import type { Clock, Timer } from '@weir/io/time';
import { type LogEntry, LogStore } from './log-store.ts';
import { pause } from '../pause.ts';

/** The state of following the log. Times are Unix milliseconds. */
export type LogState =
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
export type FollowLog = (signal: AbortSignal) => AsyncIterable<LogEvent>;

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
