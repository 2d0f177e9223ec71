import type { LoggedLine } from '../../app/control/messages.ts';
import type { LogLevel } from '../../log/logger.ts';

const TYPES: Readonly<Record<LogLevel, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warning',
  error: 'error',
};

/** A line of the log in mihomo's two forms. @param isStructured `?format=structured` */
export function clashLogLine(line: Omit<LoggedLine, 'kind'>, isStructured: boolean): unknown {
  const { at, level, target, message, fields } = line;
  const type = TYPES[level];
  const text = `${target}: ${message}`;
  if (!isStructured) return { type, payload: text };
  return {
    time: timeOf(at),
    // An exception in mihomo itself.
    level: type === 'warning' ? 'warn' : type,
    message: text,
    fields: Object.entries(fields).map(([key, value]) => ({ key, value: String(value) })),
  };
}

/** Lost lines, reported as a line of the log. */
export const lostLogLine = (count: number, at: number, isStructured: boolean): unknown =>
  clashLogLine(
    {
      at,
      level: 'warn',
      target: 'clash_api',
      message: `${count} ${count === 1 ? 'line was' : 'lines were'} lost: the reader was too slow`,
      fields: {},
    },
    isStructured,
  );

/** The local time of day: `14:03:22`. @param at Unix milliseconds */
function timeOf(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
