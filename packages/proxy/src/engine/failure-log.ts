import type { LogFields, Logger } from '@weir/base/log';
import type { Clock, Timer } from '@weir/io/time';

/** Milliseconds in which equal lines are counted as one. */
const WINDOW_MS = 60_000;
/** Different lines in that period; further lines are only counted. */
const MAX_LINES = 128;
/** Characters of a line, which may quote text from a server. */
const MAX_LENGTH = 1024;

interface Entry {
  /** Number of repetitions in the current period. */
  more: number;
  readonly fields: LogFields | undefined;
}

/**
 * Log lines of level `info` about failed flows: each line once per minute, and at the end of the minute the number of
 * repetitions. However many flows fail, it writes at most 257 lines per minute and stores 128.
 */
export class FailureLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** The lines of the current period. */
  readonly #lines = new Map<string, Entry>();
  #startedAt = 0;
  /** Number of failures beyond `MAX_LINES`. */
  #others = 0;
  /** The timer of the end of the period; set when there is a count to write. */
  #timer: Timer | undefined;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Whether lines are written at all. */
  get enabled(): boolean {
    return this.#log.enabled('info');
  }

  write(text: string, fields?: LogFields): void {
    const line = shortened(text);
    if (this.#clock.now() - this.#startedAt >= WINDOW_MS) this.#endWindow();
    const entry = this.#lines.get(line);
    if (!entry && this.#lines.size < MAX_LINES) {
      if (this.#lines.size === 0) this.#startedAt = this.#clock.now();
      const kept =
        fields?.error === undefined ? fields : { ...fields, error: shortened(fields.error) };
      this.#lines.set(line, { more: 0, fields: kept });
      this.#log.info(line, kept);
      return;
    }
    if (entry) entry.more++;
    else this.#others++;
    const left = this.#startedAt + WINDOW_MS - this.#clock.now();
    this.#timer ??= this.#clock.after(left, () => this.#endWindow());
  }

  /** Writes the counts, and begins a new period. */
  flush(): void {
    this.#endWindow();
  }

  #endWindow(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [line, { more, fields }] of this.#lines) {
      if (more === 0) continue;
      // Equal lines may be of several clients.
      const common = { ...fields, user: undefined, source: undefined, repeated: more };
      this.#log.info(`${line}; ${more} more like this in the last minute`, common);
    }
    if (this.#others > 0) {
      const repeated = this.#others;
      this.#log.info(`${repeated} other flows failed in the last minute`, { repeated });
    }
    this.#lines.clear();
    this.#others = 0;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
