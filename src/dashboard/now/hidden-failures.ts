import { parseFilter, passes } from '../../log/filter.ts';
import { APP_TARGET } from '../../app/log/process-log.ts';

/** Whether a log with this filter lacks the lines of failed flows, which are at `info`. */
export function hidesFailures(filter: string): boolean {
  try {
    return !passes(parseFilter(filter), APP_TARGET, 'info');
  } catch {
    return false; // of a Weir with another syntax: nothing is known
  }
}
