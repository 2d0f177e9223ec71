import { parseFilter, passes } from '../../log/filter.ts';
import { APP_TARGET } from '../../app/log/process-log.ts';

/** Whether a log filter suppresses the lines of failed flows, which are logged at `info`. */
export function hidesFailures(filter: string): boolean {
  try {
    return !passes(parseFilter(filter), APP_TARGET, 'info');
  } catch {
    return false; // the syntax of another version of Weir: nothing is known
  }
}
