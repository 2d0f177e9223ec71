import { DEFAULT_LEVEL } from '../config/tables/log.ts';
import { BoundedSink } from '../log/bounded-sink.ts';
import { chooseFilter, passes } from '../log/filter.ts';
import type { Logger } from '../log/logger.ts';
import { createLogger, formatLine } from '../log/output.ts';
import { standardError } from './standard-error.ts';
import { systemClock } from '../net/clock.ts';

/** The target of the app's own lines. */
export const APP_TARGET = 'svc_app';

/** How long the end of the process waits for lines that are still to be written. */
const FLUSH_MS = 1_000;

/** The log of a process. */
export interface ProcessLog {
  readonly log: Logger;
  /** Waits until all lines have been written, for a second at most. */
  readonly flush: () => Promise<void>;
}

/**
 * The log of this process, on standard error. Its filter is read once: RUST_LOG when it parses, else
 * `level`, the value of `[log].level`. Where that could not be read (it may be the error) the
 * default level applies.
 */
export function processLog(level: string = DEFAULT_LEVEL): ProcessLog {
  const filter = chooseFilter(process.env['RUST_LOG'], level);
  const device = standardError(systemClock);
  const notice = (dropped: number): string => {
    if (!passes(filter, APP_TARGET, 'warn')) return '';
    const text = `${dropped} log lines were dropped because standard error was not read`;
    return formatLine('warn', APP_TARGET, text, device.colour);
  };
  const sink = new BoundedSink(device, notice);
  return {
    log: createLogger(filter, sink, APP_TARGET),
    async flush() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, FLUSH_MS);
      await Promise.race([sink.flushed(), late]);
      clearTimeout(timer);
    },
  };
}
