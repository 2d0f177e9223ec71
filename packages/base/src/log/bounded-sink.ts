import type { LogSink } from './output.ts';

/** The destination of formatted lines. */
export interface LineDevice {
  /** Whether the device is a terminal. */
  readonly terminal: boolean;
  /**
   * Writes without blocking.
   * @param done called once: with an error if the text is lost but for its first `written` bytes, none by default
   */
  write(text: string, done: (error?: Error | null, written?: number) => void): void;
}

/**
 * The line that reports lost lines; empty for none.
 * @param error of the last write that has failed, if that lost any of them
 */
export type LostNotice = (lost: number, error: Error | undefined) => string;

/** Bytes that are queued for the device: a busy process logs this much in some seconds. */
const MAX_BACKLOG = 1 << 20;

/**
 * A sink that neither blocks nor grows when its device is slow, stuck or failing. One write is in progress at a time,
 * followed by a bounded backlog. A line that does not fit is dropped, and so are all lines until the backlog is
 * written: the log then has a single gap, in which the number of lost lines is reported. Lines of a failed write are
 * reported with the next line, or once the backlog has been written. A report counts as made when the device has
 * accepted it.
 */
export class BoundedSink implements LogSink {
  readonly #device: LineDevice;
  readonly #notice: LostNotice;
  readonly #limit: number;
  #lines: string[] = [];
  /** Bytes of waiting lines and of those being written. */
  #bytes = 0;
  /** Lost lines that the next report names. */
  #gap = 0;
  /** The error that lost these lines, if known. */
  #error: Error | undefined;
  /** Lines dropped after those in the backlog. */
  #dropped = 0;
  #lost = 0;
  #writing = false;
  /** Whether the last line that the device accepted is incomplete. */
  #torn = false;
  readonly #whenIdle: (() => void)[] = [];

  /** @param limit bytes of the backlog */
  constructor(device: LineDevice, notice: LostNotice, limit = MAX_BACKLOG) {
    this.#device = device;
    this.#notice = notice;
    this.#limit = limit;
  }

  write(line: string): void {
    if (!this.#writing) this.#endGap();
    const bytes = Buffer.byteLength(line);
    if (this.#dropped > 0 || this.#bytes + bytes > this.#limit) {
      this.#dropped++;
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    if (!this.#writing) this.#writeBacklog(this.#gap);
  }

  /** Lines that were lost since the start; reports do not count. */
  get lost(): number {
    return this.#lost;
  }

  /** Resolves when all lines are written or lost. */
  async flushed(): Promise<void> {
    if (!this.#writing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenIdle.push(resolve);
    await promise;
  }

  /** Reports the lines dropped after a backlog that is now written, before the next lines. */
  #endGap(): void {
    this.#gap += this.#dropped;
    this.#dropped = 0;
  }

  /**
   * Writes the backlog.
   * @param reported `#gap`; 0 to leave it for later
   */
  #writeBacklog(reported: number): void {
    const lines = this.#lines;
    const bytes = this.#bytes;
    const notice = reported > 0 ? this.#notice(reported, this.#error) : '';
    const head = this.#torn ? `\n${notice}` : notice;
    this.#lines = [];
    this.#gap -= reported;
    const text = head + lines.join('');
    if (text === '') return this.#becomeIdle();
    this.#writing = true;
    this.#device.write(text, (error, written = 0) => {
      this.#writing = false;
      this.#bytes -= bytes;
      if (error) {
        this.#error = error;
        if (notice !== '' && written < Buffer.byteLength(head)) this.#gap += reported;
        this.#loseAfter(written, [head, ...lines]);
      } else {
        if (this.#gap === 0) this.#error = undefined;
        this.#torn = false;
        if (this.#lines.length === 0) this.#endGap();
      }
      if (this.#lines.length > 0) this.#writeBacklog(0);
      else if (!error && this.#gap > 0) this.#writeBacklog(this.#gap);
      else this.#becomeIdle();
    });
  }

  /**
   * Counts the lines of a failed write as lost.
   * @param written bytes of `texts` that the device has accepted; the first text is not a line
   */
  #loseAfter(written: number, texts: readonly string[]): void {
    let end = 0;
    let whole = 0;
    for (const text of texts) {
      const next = end + Buffer.byteLength(text);
      if (next > written) break;
      end = next;
      whole++;
    }
    const lost = texts.length - Math.max(whole, 1);
    this.#gap += lost;
    this.#lost += lost;
    if (written > 0) this.#torn = written > end;
  }

  #becomeIdle(): void {
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
