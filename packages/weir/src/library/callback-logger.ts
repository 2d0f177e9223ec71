import { passes, type LogFilter, type LogLevel, type Logger } from '@weir/base/log';

/** A line of the log, in its parts. */
export interface LogLine {
  readonly time: Date;
  readonly level: LogLevel;
  /** The part of the program: `svc_app`, `svc_app::instance`. */
  readonly target: string;
  readonly message: string;
}

export type LogCallback = (line: LogLine) => void;

/** A logger that passes lines to the host program; the filter is evaluated once per target and level. */
export function callbackLogger(filter: LogFilter, take: LogCallback, target: string): Logger {
  const at = (level: LogLevel): ((message: string) => void) =>
    passes(filter, target, level)
      ? (message) => hand(take, { time: new Date(), level, target, message })
      : () => undefined;
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled: (level) => passes(filter, target, level),
    target: (name) => callbackLogger(filter, take, name),
  };
}

/** An error of the host's callback becomes an uncaught exception, and does not affect the caller that logs. */
function hand(take: LogCallback, line: LogLine): void {
  try {
    take(line);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
