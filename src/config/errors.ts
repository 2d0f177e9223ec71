import type { ForeignFormat } from './sources/foreign-format.ts';
import { hintsOf, WeirError, type WeirErrorOptions } from '../errors.ts';

/** Where something stands: the file, when there is one, and a line and column counted from 1. */
export interface ConfigLocation {
  readonly file: string | undefined;
  readonly line: number;
  /** In characters, not bytes. */
  readonly column: number;
}

/** `invalid`: an error in the files; `io`: a file that cannot be read. */
export type ConfigErrorKind = 'invalid' | 'io';

export interface ConfigErrorOptions extends WeirErrorOptions {
  readonly location?: ConfigLocation | undefined;
  readonly subject?: string | undefined;
  /** Whether the place is shown; true by default. */
  readonly tellsPlace?: boolean | undefined;
  readonly format?: ForeignFormat | undefined;
}

/**
 * Why a configuration cannot be used. `message` is the specified text, on several lines for an error of
 * TOML itself; the rest locates it.
 */
export class ConfigError extends WeirError {
  readonly kind: ConfigErrorKind;
  readonly location: ConfigLocation | undefined;
  /** The part of the file: `inbound socks`, `route`. */
  readonly subject: string | undefined;
  /** False for errors in `settings`, which by their specification carry no line number. */
  readonly tellsPlace: boolean;
  /** What the file seems to be instead of TOML. */
  readonly format: ForeignFormat | undefined;

  constructor(kind: ConfigErrorKind, message: string, options: ConfigErrorOptions = {}) {
    super(`config_${kind}`, message, options);
    this.kind = kind;
    this.location = options.location;
    this.subject = options.subject;
    this.tellsPlace = options.tellsPlace ?? true;
    this.format = options.format;
  }
}

/**
 * Why the files could not be read: one is missing, or `[subscribe]` has no path. Its
 * message does not name the configuration file: the caller puts that in front.
 */
export class DocumentReadError extends ConfigError {}

/** The message, and the place, if shown, on a line of its own. */
export function renderConfigError(error: ConfigError): string {
  const place = error.tellsPlace ? placeOf(error) : undefined;
  return place === undefined ? error.message : `${error.message}\n  at ${place}`;
}

/**
 * What helps on where the specified text stops short, a line each: shown after the error, apart from it.
 * The place of an error in `settings` is among it.
 */
export function configHints(error: ConfigError): readonly string[] {
  const place = error.tellsPlace ? undefined : placeOf(error);
  return place === undefined ? hintsOf(error) : [`at ${place}`, ...hintsOf(error)];
}

function placeOf({ location, subject }: ConfigError): string | undefined {
  if (!location) return undefined;
  const { file, line, column } = location;
  const place = file === undefined ? `line ${line}, column ${column}` : `${file}:${line}:${column}`;
  return subject === undefined ? place : `${place} (${subject})`;
}
