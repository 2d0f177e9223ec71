import { closeSync, constants, fstatSync, openSync, type Stats, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { DEFAULT_LEVEL } from '@weir/config/load';
import { codeOf, messageOf } from '@weir/base';
import {
  BoundedSink,
  type LineDevice,
  type LostNotice,
  chooseFilter,
  filterText,
  parseFilter,
  passes,
  chooseFormat,
  type FileNumbers,
  isJournal,
  type Logger,
  createLogger,
  FilterSwitch,
  RecentLines,
} from '@weir/base/log';
import { showAddresses, type ShownAddresses } from '@weir/io/addresses';
import { type Clock, systemClock } from '@weir/io/time';

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
interface ProcessLog {
  readonly log: Logger;
  /** Waits until all lines have been written, for a second at most. */
  readonly flush: () => Promise<void>;
  /** Replaces the filter until the process ends. @throws {RangeError} for an invalid filter */
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

const STDERR = 2;

/** Milliseconds between retries of a write to a stopped terminal (Ctrl-S), which does not report when it continues. */
const RETRY_MS = 10;

/**
 * Standard error, written without blocking, in the way that each kind of file requires:
 *
 * - Pipes and sockets are nonblocking streams in Node.
 * - Node's stream for a terminal blocks. The terminal is reopened instead, because O_NONBLOCK on the inherited
 *   descriptor would affect every process that shares it.
 * - Devices that never block, such as a terminal and /dev/null, are written synchronously.
 * - Files and other devices are written by the thread pool. Node's stream for them blocks, and is destroyed by the
 *   first error, such as a full disk.
 */
function standardError(clock: Clock): LineDevice {
  const terminal = isatty(STDERR);
  if (terminal) {
    const fd = openTerminal();
    if (fd !== undefined) return promptDevice(fd, terminal, clock);
  }
  const kind = fstatSync(STDERR);
  if (isNull(kind)) return promptDevice(STDERR, terminal, clock);
  return kind.isFIFO() || kind.isSocket() || terminal
    ? streamDevice(process.stderr, terminal)
    : descriptorDevice(STDERR, terminal, clock);
}

/** Device and inode numbers, by which the journal is recognised. */
const standardErrorNumbers = (): FileNumbers => fstatSync(STDERR, { bigint: true });

/** Opens the terminal again. @returns `undefined` where it cannot be opened by path, for instance without /proc */
function openTerminal(): number | undefined {
  let fd: number;
  try {
    fd = openSync(
      `/proc/self/fd/${STDERR}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return undefined;
  }
  if (isatty(fd)) return fd;
  closeSync(fd);
  return undefined;
}

/** Writes to a stream. Errors only reach the callbacks: a reader that closes its end must not end the process. */
function streamDevice(stream: NodeJS.WriteStream, terminal: boolean): LineDevice {
  stream.on('error', () => undefined);
  return { terminal, write: (text, done) => void stream.write(text, done) };
}

/** Whether a file is /dev/null, by its device number in Linux. */
const isNull = (kind: Stats): boolean =>
  process.platform === 'linux' && kind.isCharacterDevice() && kind.rdev === NULL_DEVICE;

/** Major number 1, minor number 3. */
const NULL_DEVICE = 0x103;

/** Writes synchronously to a descriptor that never blocks. */
function promptDevice(fd: number, terminal: boolean, clock: Clock): LineDevice {
  return {
    terminal,
    write(text, done) {
      const bytes = Buffer.from(text);
      const writeFrom = (start: number): void => {
        let written = start;
        try {
          while (written < bytes.length) written += writeSync(fd, bytes, written);
        } catch (error) {
          if (codeOf(error) === 'EAGAIN') clock.after(RETRY_MS, () => writeFrom(written));
          else queueMicrotask(() => done(error as Error, written));
          return;
        }
        queueMicrotask(() => done());
      };
      writeFrom(0);
    },
  };
}

function descriptorDevice(fd: number, terminal: boolean, clock: Clock): LineDevice {
  return {
    terminal,
    write(text, done) {
      const bytes = Buffer.from(text);
      const writeFrom = (start: number): void =>
        write(fd, bytes, start, bytes.length - start, null, (error, written) => {
          if (error && codeOf(error) === 'EAGAIN') clock.after(RETRY_MS, () => writeFrom(start));
          else if (error) done(error, start);
          else if (start + written >= bytes.length) done();
          else writeFrom(start + written);
        });
      writeFrom(0);
    },
  };
}
