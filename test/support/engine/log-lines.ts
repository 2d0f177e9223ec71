import { chooseFilter, type Logger, createLogger, FilterSwitch } from '@weir/base/log';
import { textFormat } from '../../../packages/base/src/log/line-format.ts';

/** A logger of one level, and what it has written without times and targets: `INFO text`. */
export function logLines(level: string): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): void =>
    void lines.push(line.replace(/^\S+Z +([A-Z]+) t: ([^\n]*)\n$/, '$1 $2'));
  return {
    log: createLogger(new FilterSwitch(chooseFilter(undefined, level)), { write }, textFormat, 't'),
    lines,
  };
}
