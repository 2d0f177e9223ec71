import { SILENT, passes, type LogFilter } from './filter.ts';
import type { LogLevel, Logger } from './logger.ts';

/** Where finished lines go; `colour` only when a person looks at a terminal. */
export interface LogSink {
  readonly colour: boolean;
  write(line: string): void;
}

const COLOURS: Readonly<Record<LogLevel, string>> = {
  error: '31',
  warn: '33',
  info: '32',
  debug: '34',
  trace: '35',
};

/** A logger of one target over a sink; the filter is asked once per target and level. */
export function createLogger(filter: LogFilter, sink: LogSink, target: string): Logger {
  const at = (level: LogLevel): ((message: string) => void) =>
    passes(filter, target, level)
      ? (message) => sink.write(formatLine(level, target, message, sink.colour))
      : () => undefined;
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled: (level) => passes(filter, target, level),
    target: (name) => createLogger(filter, sink, name),
  };
}

/** Drops every line. */
export const silentLogger: Logger = createLogger(
  SILENT,
  { colour: false, write: () => undefined },
  '',
);

/** A finished line of the log, its line feed included. */
export function formatLine(
  level: LogLevel,
  target: string,
  message: string,
  colour: boolean,
): string {
  const name = level.toUpperCase().padStart(5);
  const time = timestamp();
  return colour
    ? `\x1b[2m${time}\x1b[0m \x1b[${COLOURS[level]}m${name}\x1b[0m \x1b[2m${target}:\x1b[0m ${message}\n`
    : `${time} ${name} ${target}: ${message}\n`;
}

/** RFC 3339 in UTC with microseconds. */
function timestamp(): string {
  const microseconds = Math.round((performance.timeOrigin + performance.now()) * 1000);
  const fraction = String(microseconds % 1_000_000).padStart(6, '0');
  return `${new Date(microseconds / 1000).toISOString().slice(0, 19)}.${fraction}Z`;
}
