export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

/**
 * Structured data of a line (`WEIR_LOG=json`); other formats have it only in the message. Names are
 * those of the control API.
 */
export interface LogFields {
  readonly inbound?: string | undefined;
  readonly outbound?: string | undefined;
  /** The destination's host, as requested. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Index of the route rule that matched. */
  readonly rule?: number | undefined;
  readonly user?: string | undefined;
  /** Address of the client. */
  readonly source?: string | undefined;
  readonly error?: string | undefined;
  /** Number of failed flows that this line, which repeats an earlier one, stands for. */
  readonly repeated?: number | undefined;
}

/**
 * One line, or the lines of one record. Line breaks and other unprintable characters are escaped on
 * output.
 */
export type LogMessage = string | readonly string[];

/** Logs under one target; a level that the filter drops costs one comparison. */
export interface Logger {
  error(message: LogMessage, fields?: LogFields): void;
  warn(message: LogMessage, fields?: LogFields): void;
  info(message: LogMessage, fields?: LogFields): void;
  debug(message: LogMessage, fields?: LogFields): void;
  trace(message: LogMessage, fields?: LogFields): void;
  /** Whether a line of this level would be written, for messages that are costly to format. */
  enabled(level: LogLevel): boolean;
  /** Returns a logger for another target of the same output. */
  target(name: string): Logger;
}
