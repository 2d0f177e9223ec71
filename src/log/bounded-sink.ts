import type { LogSink } from './output.ts';

/** What finished lines are written to. */
export interface LineDevice {
  /** Whether it is a terminal. */
  readonly terminal: boolean;
  /** Writes without blocking; `done` is called once, with the error when the text is lost. */
  write(text: string, done: (error?: Error | null) => void): void;
}

/** Bytes that may wait for the device: what a busy process logs in some seconds. */
const MAX_BACKLOG = 1 << 20;

/**
 * A sink that neither blocks nor grows when its device is slow or stuck. One write is under way at
 * a time, and a bounded backlog waits behind it. A line that does not fit is dropped, and so are
 * those after it until the backlog has been written, so that there is one gap, whose size is
 * reported at its place.
 */
export class BoundedSink implements LogSink {
  readonly #device: LineDevice;
  readonly #notice: (dropped: number) => string;
  readonly #limit: number;
  #lines: string[] = [];
  /** Of the lines that wait and of those that are being written. */
  #bytes = 0;
  #dropped = 0;
  #writing = false;
  readonly #whenIdle: (() => void)[] = [];

  /**
   * @param notice the line that reports dropped lines; empty for none
   * @param limit of the backlog, in bytes
   */
  constructor(device: LineDevice, notice: (dropped: number) => string, limit = MAX_BACKLOG) {
    this.#device = device;
    this.#notice = notice;
    this.#limit = limit;
  }

  write(line: string): void {
    // Lines that a failed write has lost are reported with the next line.
    if (!this.#writing && this.#dropped > 0) this.#reportDropped();
    const bytes = Buffer.byteLength(line);
    if (this.#dropped > 0 || this.#bytes + bytes > this.#limit) {
      this.#dropped++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    if (!this.#writing) this.#writeBacklog();
  }

  /** Resolves when all lines have been written or are lost. */
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
      if (error) this.#dropped += lines.length;
      else if (this.#lines.length === 0 && this.#dropped > 0) this.#reportDropped();
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
