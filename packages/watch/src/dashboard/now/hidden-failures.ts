import { parseFilter, passes } from '@weir/base/log';
import { APP_TARGET } from '@weir/server/app/log/process-log';

/** Whether a log filter suppresses the lines of failed flows, which are logged at `info`. */
export function hidesFailures(filter: string): boolean {
  try {
    return !passes(parseFilter(filter), APP_TARGET, 'info');
  } catch {
    return false; // the syntax of another version of Weir: nothing is known
  }
}
