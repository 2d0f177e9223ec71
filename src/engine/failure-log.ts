import type { LogFields, Logger } from '../log/logger.ts';
import type { Clock, Timer } from '../net/time/clock.ts';

/** Lines that are alike count as one in this time. */
const WINDOW_MS = 60_000;
/** Different lines in that time; those beyond it are only counted. */
const MAX_LINES = 128;
/** Characters of a line: causes may quote what a server has sent. */
const MAX_LENGTH = 1024;

interface Entry {
  /** How often the line was repeated in the current minute. */
  more: number;
  readonly fields: LogFields | undefined;
}

/**
 * The lines of level `info` about flows that have failed: each once a minute, then how many more
 * there were. However many flows fail, it writes at most 257 lines a minute and remembers 128.
 */
export class FailureLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** Those of the current minute. */
  readonly #lines = new Map<string, Entry>();
  #startedAt = 0;
  /** Failures whose lines were not written. */
  #others = 0;
  /** Runs once there is something to add at the end of the minute. */
  #timer: Timer | undefined;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Whether anything is written at all; a line need not be made otherwise. */
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

  /** Writes what was only counted so far. */
  flush(): void {
    this.#endWindow();
  }

  #endWindow(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [line, { more, fields }] of this.#lines) {
      if (more === 0) continue;
      // Lines that are alike may be of several clients.
      const common = fields && { ...fields, user: undefined, source: undefined };
      this.#log.info(`${line}; ${more} more like this in the last minute`, common);
    }
    if (this.#others > 0) this.#log.info(`${this.#others} other flows failed in the last minute`);
    this.#lines.clear();
    this.#others = 0;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
