import { DEFAULT_LEVEL } from '../../config/tables/log.ts';
import { messageOf } from '../../errors.ts';
import { BoundedSink, type LostNotice } from '../../log/bounded-sink.ts';
import { chooseFormat, isJournal } from '../../log/line-format.ts';
import { chooseFilter, filterText, parseFilter, passes } from '../../log/filter.ts';
import type { Logger } from '../../log/logger.ts';
import { createLogger, FilterSwitch } from '../../log/output.ts';
import { RecentLines } from '../../log/recent-lines.ts';
import { standardError, standardErrorNumbers } from './standard-error.ts';
import { showAddresses, type ShownAddresses } from '../../net/addresses/shown-address.ts';
import { systemClock } from '../../net/time/clock.ts';

/** Target of the app's own log lines. */
export const APP_TARGET = 'svc_app';

/** Time limit of `flush`, in milliseconds. */
const FLUSH_MS = 1_000;

/** Parses WEIR_LOG_ADDRESSES. An unknown value shows no addresses: it was set to show less than all of them. */
export function chooseAddresses(wanted = ''): {
  readonly shown: ShownAddresses;
  readonly problem: string | undefined;
} {
  switch (wanted) {
    case '':
    case 'full':
      return { shown: 'full', problem: undefined };
    case 'net':
    case 'none':
      return { shown: wanted, problem: undefined };
    default: {
      const value = JSON.stringify(wanted);
      const problem = `WEIR_LOG_ADDRESSES=${value} is neither "full", "net" nor "none": showing no addresses`;
      return { shown: 'none', problem };
    }
  }
}

/** The log of a process, on standard error. */
export interface ProcessLog {
  readonly log: Logger;
  /** Waits until all lines have been written, for a second at most. */
  readonly flush: () => Promise<void>;
  /**
   * Replaces the filter until the process ends.
   * @throws {RangeError} for an invalid filter
   */
  readonly setFilter: (text: string) => void;
  /** The current filter. */
  readonly filter: () => string;
  /** Number of lines lost because standard error was not read, or failed. */
  readonly lost: () => number;
  readonly recent: RecentLines;
}

/**
 * Creates the log of this process, on standard error. The filter is RUST_LOG if that can be parsed, otherwise `level`,
 * the value of `[log].level`; the default level applies when that could not be read. WEIR_LOG, NO_COLOR and
 * JOURNAL_STREAM determine the format, WEIR_LOG_ADDRESSES the addresses that lines show.
 */
export function processLog(level: string = DEFAULT_LEVEL): ProcessLog {
  const { env } = process;
  const filter = new FilterSwitch(chooseFilter(env['RUST_LOG'], level));
  const device = standardError(systemClock);
  const { format, problem } = chooseFormat({
    terminal: device.terminal,
    journal: isJournal(env['JOURNAL_STREAM'], standardErrorNumbers()),
    wanted: env['WEIR_LOG'],
    noColour: env['NO_COLOR'],
  });
  const notice: LostNotice = (lost, error) => {
    if (!passes(filter.filter, APP_TARGET, 'warn')) return '';
    const text = error
      ? `log lines were lost; standard error has failed: ${messageOf(error)}`
      : 'log lines were dropped because standard error was not read';
    return format('warn', APP_TARGET, `${lost} ${text}`);
  };
  const sink = new BoundedSink(device, notice);
  const recent = new RecentLines();
  const log = createLogger(filter, sink, format, APP_TARGET, recent);
  if (problem !== undefined) log.warn(problem);
  const addresses = chooseAddresses(env['WEIR_LOG_ADDRESSES']);
  showAddresses(addresses.shown);
  if (addresses.problem !== undefined) log.warn(addresses.problem);
  return {
    log,
    setFilter(text) {
      filter.set(parseFilter(text));
    },
    filter: () => filterText(filter.filter),
    lost: () => sink.lost,
    recent,
    async flush() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, FLUSH_MS);
      await Promise.race([sink.flushed(), late]);
      clearTimeout(timer);
    },
  };
}
