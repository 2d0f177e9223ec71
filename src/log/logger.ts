export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/**
 * What a line is about, for those who search a log by its fields (`WEIR_LOG=json`). Other formats have
 * it in the message alone. Names are those of the control API.
 */
export interface LogFields {
  readonly inbound?: string | undefined;
  readonly outbound?: string | undefined;
  /** The destination's host, as requested. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Index of the route rule that decided. */
  readonly rule?: number | undefined;
  readonly user?: string | undefined;
  /** Address of the client. */
  readonly source?: string | undefined;
  readonly error?: string | undefined;
}

/**
 * One line, or the lines of one record. What they hold of other programs' texts needs no care: line
 * breaks and other unprintable characters are written escaped.
 */
export type LogMessage = string | readonly string[];

/** Writes lines under one target; levels that the filter drops cost one comparison. */
export interface Logger {
  error(message: LogMessage, fields?: LogFields): void;
  warn(message: LogMessage, fields?: LogFields): void;
  info(message: LogMessage, fields?: LogFields): void;
  debug(message: LogMessage, fields?: LogFields): void;
  trace(message: LogMessage, fields?: LogFields): void;
  /** Whether a line of this level would be written, for messages that are costly to make. */
  enabled(level: LogLevel): boolean;
  /** A logger for another target of the same output. */
  target(name: string): Logger;
}
