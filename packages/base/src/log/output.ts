import { Fifo } from '../collections.ts';
import {
  type LogFields,
  type LogFilter,
  type Logger,
  type LogLevel,
  type LogMessage,
  severityOf,
  SILENT,
} from './logger.ts';
import { type LineFormat, textFormat } from './line-format.ts';
import { printable } from '../printable.ts';

/** The destination of formatted lines. */
interface LogSink {
  write(line: string): void;
}

/** The filter of an output, which may be replaced while its loggers are in use. */
export class FilterSwitch {
  #filter: LogFilter;
  /** Number of replacements so far. */
  #version = 0;

  constructor(filter: LogFilter) {
    this.#filter = filter;
  }

  get filter(): LogFilter {
    return this.#filter;
  }

  get version(): number {
    return this.#version;
  }

  set(filter: LogFilter): void {
    this.#filter = filter;
    this.#version++;
  }
}

const RANK: Readonly<Record<LogLevel, number>> = { error: 1, warn: 2, info: 3, debug: 4, trace: 5 };

/** The start of the first line of a record, in each format. */
const RECORD_HEAD = /^(?:\d{4}-\d\d-\d\dT|<\d>|\{|(?:ERROR|WARN|INFO|DEBUG|TRACE) )/;

/** Returns the lines of one record. Only the first can look like the start of a record. */
const recordText = (lines: readonly string[]): string =>
  lines
    .map((line, index) => {
      const text = printableText(line);
      return index > 0 && RECORD_HEAD.test(text) ? `  ${text}` : text;
    })
    .join('\n');

/** Escapes unprintable characters but tabs, which lines of a configuration file have. */
const printableText = (line: string): string => line.split('\t').map(printable).join('\t');

/** Returns the lines of a text, as one record. */
export const recordLines = (text: string): readonly string[] => text.split('\n');

/**
 * Returns a logger of one target over a sink; the filter is evaluated once per target and replacement.
 * @param recent receives the lines too
 */
export function createLogger(
  filter: FilterSwitch,
  sink: LogSink,
  format: LineFormat,
  target: string,
  recent?: RecentLines,
): Logger {
  let version = -1;
  let severity = 0;
  const enabled = (level: LogLevel): boolean => {
    if (version !== filter.version) {
      ({ version } = filter);
      severity = severityOf(filter.filter, target);
    }
    return RANK[level] <= severity;
  };
  const at =
    (level: LogLevel) =>
    (message: LogMessage, fields?: LogFields): void => {
      if (!enabled(level)) return;
      const text = typeof message === 'string' ? printable(message) : recordText(message);
      sink.write(format(level, target, text, fields));
      recent?.add(level, target, text, fields);
    };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled,
    target: (name) => createLogger(filter, sink, format, name, recent),
  };
}

/** Drops every line. */
export const silentLogger: Logger = createLogger(
  new FilterSwitch(SILENT),
  { write: () => undefined },
  textFormat,
  '',
);

/** A line that has passed the filter of its log, before an output has formatted it. */
export interface WrittenLine {
  /** Time at which the line was written, in Unix milliseconds with fractions. */
  readonly at: number;
  readonly level: LogLevel;
  readonly target: string;
  /** The printable message, with line feeds between the lines of a record. */
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** Number of lines that are kept. */
const MAX_LINES = 200;
/** Total characters of the messages that are kept. */
const MAX_CHARS = 1 << 16;

/**
 * The latest lines of a log, and its reader. A line costs one small object, because nothing is formatted before it
 * is read.
 */
export class RecentLines {
  /** Called with each line; must neither throw nor log. */
  reader: ((line: WrittenLine) => void) | undefined;
  readonly #lines = new Fifo<WrittenLine>();
  #chars = 0;

  add(level: LogLevel, target: string, message: string, fields: LogFields | undefined): void {
    const at = performance.timeOrigin + performance.now();
    const line: WrittenLine = { at, level, target, message, fields };
    this.#lines.push(line);
    this.#chars += message.length;
    while (this.#lines.size > MAX_LINES || this.#chars > MAX_CHARS) {
      this.#chars -= this.#lines.shift()?.message.length ?? 0;
    }
    this.reader?.(line);
  }

  /** Returns the kept lines, oldest first. */
  latest(): readonly WrittenLine[] {
    return Array.from({ length: this.#lines.size }, (_, index) => this.#lines.at(index)).filter(
      (line) => line !== undefined,
    );
  }
}

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

  /** Writes the backlog. @param reported `#gap`; 0 to leave it for later */
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
