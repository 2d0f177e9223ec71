import { SILENT, passes, type LogFilter } from './filter.ts';
import { textFormat, type LineFormat } from './line-format.ts';
import type { LogLevel, Logger } from './logger.ts';

/** Where finished lines go. */
export interface LogSink {
  write(line: string): void;
}

/** A logger of one target over a sink; the filter is asked once per target and level. */
export function createLogger(
  filter: LogFilter,
  sink: LogSink,
  format: LineFormat,
  target: string,
): Logger {
  const at = (level: LogLevel): ((message: string) => void) =>
    passes(filter, target, level)
      ? (message) => sink.write(format(level, target, message))
      : () => undefined;
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled: (level) => passes(filter, target, level),
    target: (name) => createLogger(filter, sink, format, name),
  };
}

/** Drops every line. */
export const silentLogger: Logger = createLogger(
  SILENT,
  { write: () => undefined },
  textFormat,
  '',
);
