import { normalizeHost } from '@weir/io/addresses';
import { UsageError } from '@weir/base';

const BYTES: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };

/** Parses a number of bytes with an optional decimal unit: `64M`. @throws {UsageError} */
export function parseBytes(option: string, text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,15})([kmg]?)$/i.exec(text) ?? [];
  const bytes =
    digits === '' ? Number.NaN : Number(digits) * (BYTES[unit.toLowerCase()] ?? Number.NaN);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`${option} needs a number of bytes such as 500000, 500k or 64M`);
}

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration (`90`, `90s`, `15m`, `12h` or `7d`) to seconds. @throws {UsageError} */
export function parseDuration(option: string, text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([smhd]?)$/i.exec(text) ?? [];
  if (digits !== '') return Number(digits) * (SECONDS[unit.toLowerCase()] ?? Number.NaN);
  throw new UsageError(`${option} needs a time such as 30s, 15m, 12h or 7d`);
}

/** The maximum of `parseSeconds`: a day. */
const LONGEST_SECONDS = 86_400;

/** Parses positive seconds, possibly with a fraction, to milliseconds. @throws {UsageError} */
export function parseSeconds(option: string, text: string): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= LONGEST_SECONDS) return Math.max(1, seconds * 1000);
  throw new UsageError(`${option} needs a number of seconds, at most ${LONGEST_SECONDS}`);
}

/** Parses a count from 1 to `most`. @throws {UsageError} */
export function parseCount(option: string, text: string, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0 && count <= most) return count;
  throw new UsageError(`${option} needs a number from 1 to ${most}`);
}

/** Validates a choice of an option. @throws {UsageError} unless `text` is one of the choices */
export function choiceOf<T extends string>(option: string, choices: readonly T[], text: string): T {
  const chosen = choices.find((each) => each === text);
  if (chosen !== undefined) return chosen;
  throw new UsageError(`--${option} takes ${choices.join(', ')}, not ${JSON.stringify(text)}`);
}

/**
 * Normalises a host, the value of an option (`--host`) or of an operand (`NAME`), to the form of flows: IPv6 without
 * brackets, a name in ASCII.
 * @throws {UsageError}
 */
export function hostOf(what: string, text: string): string {
  const host = normalizeHost(text.replace(/^\[(.*)\]$/, '$1'));
  // A zone identifier has a meaning on the server only, not for its clients.
  if (host !== undefined && !host.includes('%')) return host;
  throw new UsageError(
    `${what} needs a name or an address without a port, not ${JSON.stringify(text)}`,
  );
}

/** Parses a port. @throws {UsageError} unless it is a number from 1 to 65535 */
export function portOf(option: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port > 0 && port < 65_536) return port;
  throw new UsageError(`--${option} needs a port from 1 to 65535, not ${JSON.stringify(text)}`);
}
