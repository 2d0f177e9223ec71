import type { ForeignObject } from '../../protocols/forms/foreign-object.ts';

/** Levels of `[log].level` by those of other programs, in lower case. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['none', 'off'],
  ['silent', 'off'],
  ['panic', 'error'],
  ['fatal', 'error'],
  ['error', 'error'],
  ['warn', 'warn'],
  ['warning', 'warn'],
  ['info', 'info'],
  ['debug', 'debug'],
  ['trace', 'trace'],
]);

/** Weir's level for the name of another program's level; `undefined` for an unknown name. */
export const levelOf = (name: string): string | undefined => LEVELS.get(name.toLowerCase());

/** Converts sing-box's `log` to `[log].level`. */
export function logLevelOf(log: ForeignObject): string | undefined {
  const level = log.text('level') ?? '';
  return log.flag('disabled') ? 'off' : levelOf(level);
}
