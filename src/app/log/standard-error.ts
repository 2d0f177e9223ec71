import { closeSync, constants, fstatSync, openSync, write, writeSync, type Stats } from 'node:fs';
import { isatty } from 'node:tty';
import { codeOf } from '../../errors.ts';
import type { Clock } from '../../net/time/clock.ts';
import type { LineDevice } from '../../log/bounded-sink.ts';
import type { FileNumbers } from '../../log/line-format.ts';

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
export function standardError(clock: Clock): LineDevice {
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
export const standardErrorNumbers = (): FileNumbers => fstatSync(STDERR, { bigint: true });

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
