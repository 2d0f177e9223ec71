import { printable } from '../printable.ts';
import { severityOf, SILENT, type LogFilter } from './filter.ts';
import { textFormat, type LineFormat } from './line-format.ts';
import type { LogFields, Logger, LogLevel, LogMessage } from './logger.ts';
import type { RecentLines } from './recent-lines.ts';

/** The destination of formatted lines. */
export interface LogSink {
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
