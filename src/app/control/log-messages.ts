import type { LogFields, LogLevel } from '../../log/logger.ts';
import type { WrittenLine } from '../../log/recent-lines.ts';
import { printableJson } from '../../printable.ts';

/** The operand of `log` on the control socket, as JSON. */
export interface LogRequest {
  /** A filter in the syntax of `[log].level`; without one, all logged lines. */
  readonly filter?: string | undefined;
  /** Whether the response starts with the latest lines. */
  readonly tail?: boolean | undefined;
  /** Whether to continue after the latest lines; `true` by default. */
  readonly follow?: boolean | undefined;
}

/** An event that a follower of a log receives. */
export type LogEvent =
  | LoggedLine
  /** Later lines were logged after the request. */
  | { readonly kind: 'live' }
  /** Lines were lost here because the follower was too slow. */
  | { readonly kind: 'lost'; readonly count: number };

export interface LoggedLine {
  readonly kind: 'line';
  /** Unix milliseconds, with fractions. */
  readonly at: number;
  readonly level: LogLevel;
  readonly target: string;
  /** Printable text, with line feeds between the lines of a record. */
  readonly message: string;
  readonly fields: LogFields;
}

/** The process rejects the request; the line is its reason. */
export interface LogRefused {
  readonly kind: 'failed';
  readonly line: string;
}

export const LIVE_LINE = '{"live":true}\n';
export const lostLine = (count: number): string => `{"lost":${count}}\n`;
export const refusedLine = (line: string): string =>
  `${printableJson({ kind: 'failed', line } satisfies LogRefused)}\n`;
export const loggedLine = ({ at, level, target, message, fields }: WrittenLine): string =>
  `${printableJson({ at, level, target, message, fields })}\n`;

/** Parses a request; `undefined` for any other text. @param text the rest of the request line */
export function toLogRequest(text: string): LogRequest | undefined {
  const { filter, tail, follow, ...others } = objectOf(text) ?? { invalid: true };
  if (Object.keys(others).length > 0) return undefined;
  if (filter !== undefined && typeof filter !== 'string') return undefined;
  if (tail !== undefined && typeof tail !== 'boolean') return undefined;
  if (follow !== undefined && typeof follow !== 'boolean') return undefined;
  return { filter, tail, follow };
}

/** Parses a line of the response; `undefined` for anything else. */
export function toLogEvent(text: string): LogEvent | LogRefused | undefined {
  const parsed = objectOf(text);
  if (!parsed) return undefined;
  const { kind, line, live, lost, at, level, target, message, fields } = parsed;
  if (kind === 'failed') return typeof line === 'string' ? { kind, line } : undefined;
  if (live === true) return { kind: 'live' };
  if (typeof lost === 'number') return { kind: 'lost', count: lost };
  if (typeof at !== 'number' || !isLevel(level)) return undefined;
  if (typeof target !== 'string' || typeof message !== 'string') return undefined;
  return { kind: 'line', at, level, target, message, fields: toFields(fields) };
}

const LEVELS: ReadonlySet<unknown> = new Set(['error', 'warn', 'info', 'debug', 'trace']);

const isLevel = (value: unknown): value is LogLevel => LEVELS.has(value);

/** The fields with text and number values, including names that this version does not know. */
const toFields = (value: unknown): LogFields =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value).filter(([, each]) => ['string', 'number'].includes(typeof each)),
      )
    : {};

type Parsed = Readonly<Record<string, unknown>>;

function objectOf(text: string): Parsed | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}
