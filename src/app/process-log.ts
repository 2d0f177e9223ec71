import { chooseFilter } from '../log/filter.ts';
import type { Logger } from '../log/logger.ts';
import { createLogger, standardError } from '../log/output.ts';

/** The target of the app's own lines. */
export const APP_TARGET = 'svc_app';

const DEFAULT_LEVEL = 'info';

/**
 * The logger of this process, read once at start: RUST_LOG when it parses, else `level`, the value
 * of `[log].level`. Without a configuration (it may be what is wrong) the default level holds.
 */
export function processLogger(level: string | undefined): Logger {
  const filter = chooseFilter(process.env['RUST_LOG'], level ?? DEFAULT_LEVEL);
  return createLogger(filter, standardError(), APP_TARGET);
}
