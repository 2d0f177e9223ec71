import type { ForeignFormat } from './sources/foreign-format.ts';
import { printable } from '@weir/base/printable';
import { hintsOf, WeirError, type WeirErrorOptions } from '@weir/base';

/** A place: the file, if any, and a line and column counted from 1; or a key path. */
export interface ConfigLocation {
  readonly file: string | undefined;
  readonly line: number;
  /** The column in characters, not bytes. */
  readonly column: number;
  /**
   * The key path in a configuration given as an object, such as `inbound[0].port`; line and column are then 0. Empty for
   * the object as a whole.
   */
  readonly path?: string | undefined;
}

/** Returns a place as messages show it: `weir.toml:3:5`, `line 3, column 5`, or a key path. */
export function placeText({ file, line, column, path }: ConfigLocation): string {
  if (path !== undefined) return path;
  return file === undefined ? `line ${line}, column ${column}` : `${file}:${line}:${column}`;
}

/** Returns the line of a place as messages refer to it: `line 3`, or a key path. */
export const lineText = ({ line, path }: ConfigLocation): string => path ?? `line ${line}`;

/** `invalid`: an error in the files; `io`: a file that cannot be read. */
export type ConfigErrorKind = 'invalid' | 'io';

export interface ConfigErrorOptions extends WeirErrorOptions {
  readonly location?: ConfigLocation | undefined;
  readonly subject?: string | undefined;
  /** Whether the error shows its place; true by default. */
  readonly showsPlace?: boolean | undefined;
  readonly format?: ForeignFormat | undefined;
  /** Whether the message has several lines, in which quoted text is already escaped; one line by default. */
  readonly severalLines?: boolean | undefined;
}

/**
 * The error of an unusable configuration. `message` is the specified text, on several lines for an error of
 * TOML itself; the rest locates it.
 */
export class ConfigError extends WeirError {
  /** Whether the configuration has to be corrected, or a file could not be read. */
  readonly kind: ConfigErrorKind;
  /** The place of the error, unless it concerns the configuration as a whole. */
  readonly location: ConfigLocation | undefined;
  /** The part of the file: `inbound socks`, `route`. */
  readonly subject: string | undefined;
  /** False for errors in `settings`, which are specified without a line number. */
  readonly showsPlace: boolean;
  /** The format of the file, if it seems to be one other than TOML. */
  readonly format: ForeignFormat | undefined;

  constructor(kind: ConfigErrorKind, message: string, options: ConfigErrorOptions = {}) {
    super(`config_${kind}`, message, options);
    this.kind = kind;
    this.location = options.location;
    this.subject = options.subject;
    this.showsPlace = options.showsPlace ?? true;
    this.format = options.format;
  }
}

/**
 * The error of files that could not be read: one is missing, or `[subscribe]` has no path. The message does not
 * name the configuration file: the caller prepends it.
 */
export class DocumentReadError extends ConfigError {}

/** Returns the text of an error: the message and, if it is shown, the place on a second line. */
export function renderConfigError(error: ConfigError): string {
  const place = error.showsPlace ? placeOf(error) : undefined;
  return place === undefined ? error.message : `${error.message}\n  at ${place}`;
}

/**
 * Hints shown separately after the error, whose text is specified, one line each. The place of an
 * error in `settings` is one of them.
 */
export function configHints(error: ConfigError): readonly string[] {
  const place = error.showsPlace ? undefined : placeOf(error);
  return place === undefined ? hintsOf(error) : [`at ${place}`, ...hintsOf(error)];
}

function placeOf({ location, subject }: ConfigError): string | undefined {
  if (!location) return undefined;
  const place = placeText(location);
  return printable(subject === undefined ? place : `${place} (${subject})`);
}
