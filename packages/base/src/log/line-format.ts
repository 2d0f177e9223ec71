import { printableJson } from '../printable.ts';
import type { LogFields, LogLevel } from './logger.ts';

type LogArguments = [level: LogLevel, target: string, message: string, fields?: LogFields];

/** Formats a log line, including its line feed. */
export type LineFormat = (...line: LogArguments) => string;

const COLOURS: Readonly<Record<LogLevel, string>> = {
  error: '31',
  warn: '33',
  info: '32',
  debug: '34',
  trace: '35',
};

/** Priorities of syslog(3), which has none below `debug`. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = {
  error: 3,
  warn: 4,
  info: 6,
  debug: 7,
  trace: 7,
};

const levelName = (level: LogLevel): string => level.toUpperCase().padStart(5);

/** The format for a file or pipe: `2026-01-02T03:04:05.678901Z  INFO svc_app: message`. */
export const textFormat: LineFormat = (level, target, message) =>
  textLine(now(), level, target, message);

/** A line of `textFormat` at a time in Unix milliseconds. */
export const textLine = (at: number, level: LogLevel, target: string, message: string): string =>
  `${timestamp(at)} ${levelName(level)} ${target}: ${message}\n`;

/** The format for a terminal: as `textFormat`, with a coloured level and a dimmed time and target. */
const colourFormat: LineFormat = (level, target, message) =>
  `\x1b[2m${timestamp(now())}\x1b[0m \x1b[${COLOURS[level]}m${levelName(level)}\x1b[0m \x1b[2m${target}:\x1b[0m ${message}\n`;

/** The format for a journal, which records the time itself. */
const plainFormat: LineFormat = (level, target, message) =>
  `${level.toUpperCase()} ${target}: ${message}\n`;

/** A JSON object on one line: `time`, `level`, `target`, `message` and the fields of the line. */
export const jsonFormat: LineFormat = (level, target, message, fields) =>
  jsonLine(now(), level, target, message, fields);

/** A line of `jsonFormat` at a time in Unix milliseconds. */
export const jsonLine = (at: number, ...[level, target, message, fields]: LogArguments): string =>
  `${printableJson({ time: timestamp(at), level, target, message, ...fields })}\n`;

/**
 * Prefixes the priority of sd-daemon(3): `<6>INFO svc_app: message`. A journal stores each line as
 * an entry, so every line of a message has the prefix.
 */
export const withPriority =
  (format: LineFormat): LineFormat =>
  (level, target, message, fields) => {
    const lines = format(level, target, message, fields).trimEnd().split('\n');
    return lines.map((line) => `<${PRIORITIES[level]}>${line}\n`).join('');
  };

/** Returns the current time in Unix milliseconds, with fractions. */
const now = (): number => performance.timeOrigin + performance.now();

/** Formats a time as RFC 3339 in UTC with microseconds. */
function timestamp(at: number): string {
  const microseconds = Math.round(at * 1000);
  const fraction = String(microseconds % 1_000_000).padStart(6, '0');
  return `${new Date(microseconds / 1000).toISOString().slice(0, 19)}.${fraction}Z`;
}

/** Inputs that determine the format of a log. */
export interface LogEnvironment {
  readonly terminal: boolean;
  /** Whether a journal reads the log. */
  readonly journal: boolean;
  /** The value of `WEIR_LOG`. */
  readonly wanted: string | undefined;
  /** The value of `NO_COLOR`: no colour if it is not empty. */
  readonly noColour: string | undefined;
}

interface ChosenFormat {
  readonly format: LineFormat;
  /** The error of an invalid choice, to be logged. */
  readonly problem: string | undefined;
}

/** Chooses the format of a process's log. An unknown `WEIR_LOG` counts as `text`. */
export function chooseFormat({
  terminal,
  journal,
  wanted = '',
  noColour = '',
}: LogEnvironment): ChosenFormat {
  const text = terminal && noColour === '' ? colourFormat : textFormat;
  const line = wanted === 'json' ? jsonFormat : journal ? plainFormat : text;
  const isKnown = wanted === '' || wanted === 'json' || wanted === 'text';
  return {
    format: journal ? withPriority(line) : line,
    problem: isKnown
      ? undefined
      : `WEIR_LOG=${JSON.stringify(wanted)} is neither "json" nor "text": writing text`,
  };
}

/** Identifies a file, as fstat(2) does. */
export interface FileNumbers {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * Whether a file is the stream that systemd connected to the journal.
 * @param stream `JOURNAL_STREAM`, as in `8:12345`: systemd.exec(5).
 */
export const isJournal = (stream: string | undefined, { dev, ino }: FileNumbers): boolean =>
  stream === `${dev}:${ino}`;
