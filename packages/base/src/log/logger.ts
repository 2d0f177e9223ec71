import { quoted } from '../printable.ts';

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

/**
 * A log filter in the syntax of RUST_LOG: directives separated by commas, each a level, a target
 * (at every level) or `target=level`. The directive with the longest matching prefix of a line's
 * target applies, otherwise the bare level; without either the line is dropped.
 */
export interface LogFilter {
  /** Longest target first; a directive without a target comes last. */
  readonly directives: readonly Directive[];
}

interface Directive {
  readonly target: string;
  readonly level: number;
}

const LEVEL_NAMES = ['off', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const EVERYTHING = 5;

/**
 * Targets as Rust paths; a span in brackets parses but never matches, because there are no spans.
 */
const DIRECTIVE = /^(?<target>[\w:-]+)?(?<span>\[[^\]]*\])?(?:=(?<level>\w*))?$/;

/** A filter that drops every line. */
export const SILENT: LogFilter = { directives: [] };

const ERRORS_ONLY: LogFilter = { directives: [{ target: '', level: 1 }] };

/**
 * Chooses the filter of a process. `environment` (the value of RUST_LOG) applies if all of it
 * parses; an empty one drops every line. Otherwise the valid directives of `level`, of the
 * configuration, apply; without any, only errors are logged.
 */
export function chooseFilter(environment: string | undefined, level: string): LogFilter {
  if (environment !== undefined) {
    const parts = partsOf(environment);
    const directives = parts.map(parseDirective);
    if (directives.every((directive) => directive !== undefined)) return ordered(directives);
  }
  const directives = partsOf(level)
    .map(parseDirective)
    .filter((directive) => directive !== undefined);
  return directives.length > 0 ? ordered(directives) : ERRORS_ONLY;
}

/**
 * Returns the lowest severity that is logged for a target: 0 for nothing, 1 for errors, up to 5 for
 * everything.
 */
export function severityOf(filter: LogFilter, target: string): number {
  const decisive = filter.directives.find((directive) => target.startsWith(directive.target));
  return decisive?.level ?? 0;
}

/** Whether a line of this target and level passes. */
export const passes = (filter: LogFilter, target: string, level: LogLevel): boolean =>
  LEVEL_NAMES.indexOf(level) <= severityOf(filter, target);

/**
 * Parses a filter in which every part is a level or `target=level`. A word such as `warning`, which the
 * configuration would read as a target, is rejected.
 * @throws {RangeError} naming the invalid part, or for an empty text.
 */
export function parseFilter(text: string): LogFilter {
  const directives = partsOf(text).map((part) => {
    const directive = readsAsTarget(part) ? undefined : parseDirective(part);
    if (directive) return directive;
    throw new RangeError(
      `${quoted(part)} is not a log filter: expected off, error, warn, info, debug or trace, or target=level`,
    );
  });
  if (directives.length === 0) throw new RangeError('the log filter is empty');
  return ordered(directives);
}

/** Returns a filter as text, which `parseFilter` reads as the same filter. */
export const filterText = ({ directives }: LogFilter): string =>
  directives
    .map(({ target, level }) => (target === '' ? '' : `${target}=`) + (LEVEL_NAMES[level] ?? 'off'))
    .toReversed()
    .join(',') || 'off';

/** Returns the invalid parts of a filter, which the level of a configuration ignores. */
export const unreadDirectives = (text: string): readonly string[] =>
  partsOf(text).filter((part) => parseDirective(part) === undefined);

/** Whether a part of a filter is a target without a level, which logs everything of that target. */
export const readsAsTarget = (part: string): boolean =>
  parseLevel(part) === undefined && /^[\w:-]+$/.test(part);

function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function parseDirective(part: string): Directive | undefined {
  const bare = parseLevel(part);
  if (bare !== undefined) return { target: '', level: bare };
  const groups = DIRECTIVE.exec(part)?.groups;
  if (!groups) return undefined;
  const { target = '', span, level } = groups;
  const parsed = level === undefined || level === '' ? EVERYTHING : parseLevel(level);
  if (parsed === undefined || (target === '' && span === undefined)) return undefined;
  // No line has a span: keeping the bracket in the target makes the directive match nothing.
  return { target: span === undefined ? target : `${target}${span}`, level: parsed };
}

function parseLevel(text: string): number | undefined {
  if (/^[0-5]$/.test(text)) return Number(text);
  const index = (LEVEL_NAMES as readonly string[]).indexOf(text.toLowerCase());
  return index >= 0 ? index : undefined;
}

/** Sorts directives: longest target first; of equal targets the last one applies. */
function ordered(directives: readonly Directive[]): LogFilter {
  return {
    directives: directives.toReversed().sort((a, b) => b.target.length - a.target.length),
  };
}
