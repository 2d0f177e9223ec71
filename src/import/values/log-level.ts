import type { ForeignObject } from '../foreign-object.ts';

/** The levels of other programs, in lower case, by those of `[log].level`. */
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

/** Weir's level for the name of another program's; `undefined` for one that it does not have. */
export const levelOf = (name: string): string | undefined => LEVELS.get(name.toLowerCase());

/** `[log].level` of sing-box's `log`. */
export function logLevelOf(log: ForeignObject): string | undefined {
  const level = log.text('level') ?? '';
  return log.flag('disabled') ? 'off' : levelOf(level);
}
