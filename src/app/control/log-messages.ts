import type { LogFields, LogLevel } from '../../log/logger.ts';
import type { WrittenLine } from '../../log/recent-lines.ts';
import { printableJson } from '../../printable.ts';

/** The operand of `log` on the control socket, as JSON. */
export interface LogRequest {
  /** In the syntax of `[log].level`; absent: all lines that are logged. */
  readonly filter?: string | undefined;
  /** Whether the latest lines come first. */
  readonly tail?: boolean | undefined;
  /** `false` ends the response after the latest lines. */
  readonly follow?: boolean | undefined;
}

/** What a follower of a log receives. */
export type LogEvent =
  | LoggedLine
  /** What follows was logged after the request. */
  | { readonly kind: 'live' }
  /** Lines that were lost here because the follower was too slow. */
  | { readonly kind: 'lost'; readonly count: number };

export interface LoggedLine {
  readonly kind: 'line';
  /** Unix milliseconds, with fractions. */
  readonly at: number;
  readonly level: LogLevel;
  readonly target: string;
  /** Printable, with line feeds between the lines of a record. */
  readonly message: string;
  readonly fields: LogFields;
}

/** The process does not serve the request; the line is its reason. */
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

/** @param text what followed the word. `undefined` for anything but a request. */
export function toLogRequest(text: string): LogRequest | undefined {
  const { filter, tail, follow, ...others } = objectOf(text) ?? { invalid: true };
  if (Object.keys(others).length > 0) return undefined;
  if (filter !== undefined && typeof filter !== 'string') return undefined;
  if (tail !== undefined && typeof tail !== 'boolean') return undefined;
  if (follow !== undefined && typeof follow !== 'boolean') return undefined;
  return { filter, tail, follow };
}

/** A line of the response; `undefined` for anything else. */
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

/** Texts and numbers alone: names that this version does not know are kept. */
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
