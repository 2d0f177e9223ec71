import { WeirError } from '../errors.ts';

/** Where something stands: the file, when there is one, and a line and column counted from 1. */
export interface ConfigLocation {
  readonly file: string | undefined;
  readonly line: number;
  /** In characters, not bytes. */
  readonly column: number;
}

/** Bad data is the author's to mend; a file that cannot be read is the system's. */
export type ConfigErrorKind = 'invalid' | 'io';

export interface ConfigErrorOptions extends ErrorOptions {
  readonly location?: ConfigLocation | undefined;
  readonly subject?: string | undefined;
  /** Whether the place is told to people; it is when left out. */
  readonly tellsPlace?: boolean | undefined;
}

/**
 * Why a configuration cannot be used. `message` is exactly the text that users look for, on several
 * lines where TOML itself is wrong; the rest helps to find the place.
 */
export class ConfigError extends WeirError {
  readonly kind: ConfigErrorKind;
  readonly location: ConfigLocation | undefined;
  /** What the place belongs to: `inbound socks`, `route`. */
  readonly subject: string | undefined;
  /** False for errors in `settings`, which by their specification carry no line number. */
  readonly tellsPlace: boolean;

  constructor(kind: ConfigErrorKind, message: string, options: ConfigErrorOptions = {}) {
    super(`config_${kind}`, message, options);
    this.kind = kind;
    this.location = options.location;
    this.subject = options.subject;
    this.tellsPlace = options.tellsPlace ?? true;
  }
}

/**
 * Why the files could not even be read: one is not there, or `[subscribe]` does not say which. Its
 * message names no configuration file: who asked for it puts that in front.
 */
export class DocumentReadError extends ConfigError {}

/** The message, and where one is told the place on a line of its own. */
export function renderConfigError(error: ConfigError): string {
  if (!error.location || !error.tellsPlace) return error.message;
  const { file, line, column } = error.location;
  const place = file === undefined ? `line ${line}, column ${column}` : `${file}:${line}:${column}`;
  const subject = error.subject === undefined ? '' : ` (${error.subject})`;
  return `${error.message}\n  at ${place}${subject}`;
}
