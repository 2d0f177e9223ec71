import { ConfigError, renderConfigError } from '../config/errors.ts';
import { messageOf } from '../errors.ts';
import { ApplyError } from '../supervisor/apply-error.ts';
import type { AppliedReport } from '../supervisor/reload-report.ts';

const KEEPING = 'keeping the running config';

/** What a reload did, in one line: names where something changed, a number of what did not. */
export function summaryOf(report: AppliedReport): string {
  const { built, swapped, drained, rebound, restarted, removed, reused } = report;
  const parts = Object.entries({ built, swapped, drained, rebound, restarted, removed })
    .filter(([, items]) => items.length > 0)
    .map(([what, items]) => `${what} ${items.join(', ')}`);
  return [...parts, `reused ${reused.length}`].join('; ');
}

/** Why a reload did not happen, as the log tells it. `error` is what the reload rejected with. */
export function failureLine(error: Error): string {
  const { cause } = error;
  if (cause instanceof ApplyError && cause.code === 'disruptive') {
    return `reload refused, ${KEEPING}: ${cause.message}, which would end its live connections; restart to apply it`;
  }
  if (cause instanceof ApplyError && cause.code === 'stopped') return `reload: ${error.message}`;
  if (cause instanceof ConfigError) {
    const place = renderConfigError(cause).slice(cause.message.length);
    return `reload: configuration invalid: ${error.message}; ${KEEPING}${place}`;
  }
  return `reload: ${messageOf(error)}; ${KEEPING}`;
}
