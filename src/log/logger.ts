export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Writes lines under one target; levels that the filter drops cost one comparison. */
export interface Logger {
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
  trace(message: string): void;
  /** Whether a line of this level would be written, for messages that are costly to make. */
  enabled(level: LogLevel): boolean;
  /** A logger for another target of the same output. */
  target(name: string): Logger;
}
