import { suggestion } from '../../schema/suggestion.ts';
import { readsAsTarget, unreadDirectives } from '../../log/filter.ts';
import type { LogTable } from '../tables/log.ts';
import { quotedShort, type WarningList } from './warning.ts';

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace'];

/** Names of levels in other programs. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  warning: 'warn',
  err: 'error',
  critical: 'error',
  fatal: 'error',
  notice: 'info',
  information: 'info',
  verbose: 'debug',
  all: 'trace',
  none: 'off',
  silent: 'off',
  quiet: 'off',
};

/** The prefix of all targets of Weir. */
const OWN_TARGETS = 'svc_';

/** Warns of a mistyped level: it is read as the name of a target, and then nothing is logged, not even errors. */
export function warnOfLog(table: LogTable | undefined, list: WarningList): void {
  if (!table?.level) return;
  const { value: level, span } = table.level;
  const warn = (message: string): void => list.add('log-level', span, () => `[log] ${message}`);
  const parts = level
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) warn('level is empty: only errors are logged');
  for (const part of parts) {
    if (unreadDirectives(part).length > 0) {
      warn(`level: ${quotedShort(part)} is not a directive and is ignored`);
    } else if (readsAsTarget(part) && !part.startsWith(OWN_TARGETS)) {
      warn(
        `level: ${quotedShort(part)} is not a level but the name of a target, which Weir does not have${silence(parts)}${meant(part)}`,
      );
    }
  }
}

const silence = (parts: readonly string[]): string =>
  parts.length === 1 ? ': nothing is logged, not even errors' : '';

function meant(word: string): string {
  const level = ELSEWHERE[word.toLowerCase()] ?? suggestion(word, LEVELS);
  return level === undefined ? '' : `; did you mean ${quotedShort(level)}?`;
}
