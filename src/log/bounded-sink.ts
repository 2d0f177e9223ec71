import type { LogSink } from './output.ts';

/** The destination of formatted lines. */
export interface LineDevice {
  /** Whether it is a terminal. */
  readonly terminal: boolean;
  /** Writes without blocking; `done` is called once, with an error if the text is lost. */
  write(text: string, done: (error?: Error | null) => void): void;
}

/** Bytes that may wait for the device: a busy process logs this much in some seconds. */
const MAX_BACKLOG = 1 << 20;

/**
 * A sink that neither blocks nor grows when its device is slow or stuck. One write is in progress
 * at a time, followed by a bounded backlog. A line that does not fit is dropped, and so are all
 * lines until the backlog is written: the log then has a single gap, in which the number of dropped
 * lines is reported.
 */
export class BoundedSink implements LogSink {
  readonly #device: LineDevice;
  readonly #notice: (dropped: number) => string;
  readonly #limit: number;
  #lines: string[] = [];
  /** Bytes of waiting lines and of those being written. */
  #bytes = 0;
  #dropped = 0;
  #lost = 0;
  #writing = false;
  readonly #whenIdle: (() => void)[] = [];

  /**
   * @param notice the line that reports dropped lines; empty for none
   * @param limit bytes of the backlog
   */
  constructor(device: LineDevice, notice: (dropped: number) => string, limit = MAX_BACKLOG) {
    this.#device = device;
    this.#notice = notice;
    this.#limit = limit;
  }

  write(line: string): void {
    // Lines lost by a failed write are reported before the next line.
    if (!this.#writing && this.#dropped > 0) this.#reportDropped();
    const bytes = Buffer.byteLength(line);
    if (this.#dropped > 0 || this.#bytes + bytes > this.#limit) {
      this.#dropped++;
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    if (!this.#writing) this.#writeBacklog();
  }

  /** Lines that were lost since the start. */
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

  #writeBacklog(): void {
    const lines = this.#lines;
    const bytes = this.#bytes;
    this.#lines = [];
    this.#writing = true;
    this.#device.write(lines.join(''), (error) => {
      this.#writing = false;
      this.#bytes -= bytes;
      if (error) {
        this.#dropped += lines.length;
        this.#lost += lines.length;
      } else if (this.#lines.length === 0 && this.#dropped > 0) this.#reportDropped();
      if (this.#lines.length > 0) this.#writeBacklog();
      else for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  #reportDropped(): void {
    const notice = this.#notice(this.#dropped);
    this.#dropped = 0;
    if (notice === '') return;
    this.#lines.push(notice);
    this.#bytes += Buffer.byteLength(notice);
  }
}
