import { findServing } from '@weir/client';
import { type LimitKeys, removeLimit, setLimit, type WrittenUser } from '@weir/config/edit';
import {
  type AmountProblem,
  parseByteLimit,
  parseRateLimit,
  parseUntil,
} from '@weir/config/limits';
import { accountOf, editLimits, servedLimits } from '@weir/nodes/accounts/limits';
import { listAccounts } from '@weir/nodes/accounts';
import { type AccountReport, requestAllLimits } from '@weir/server/control';
import { resolve } from 'node:path';
import { UsageError, WeirError } from '@weir/base';
import { quoted } from '@weir/base/printable';
import { bytes, day } from '@weir/base/text/amounts';
import type { CommandIo } from '../command.ts';
import { choiceOf, parseCount } from '../option-values.ts';
import { type LIMIT_OPTIONS, RESETS } from './specs.ts';

/** The most devices of a limits file. */
const MOST_DEVICES = 1000;

type LimitValues = {
  readonly [Name in keyof typeof LIMIT_OPTIONS]?: string | undefined;
};

/** Parses the options of limits; `undefined` where none is given. @throws {UsageError} */
export function limitsOf(given: LimitValues): LimitKeys | undefined {
  const { limit, reset, until, devices, up, down } = given;
  amountOf('--limit', limit, parseByteLimit);
  amountOf('--until', until, parseUntil);
  amountOf('--up', up, parseRateLimit);
  amountOf('--down', down, parseRateLimit);
  if (reset !== undefined && limit === undefined) throw new UsageError('--reset goes with --limit');
  const keys = {
    bytes: limit,
    reset: reset === undefined ? undefined : choiceOf('reset', RESETS, reset),
    until,
    devices: devices === undefined ? undefined : parseCount('--devices', devices, MOST_DEVICES),
    up,
    down,
  };
  if (Object.values(keys).some((value) => value !== undefined)) return keys;
  if (given.limits !== undefined) {
    throw new UsageError('--limits goes with --limit, --until, --devices, --up or --down');
  }
  return undefined;
}

function amountOf(
  option: string,
  text: string | undefined,
  parse: (text: string) => number | AmountProblem,
): void {
  const parsed = text === undefined ? 0 : parse(text);
  if (typeof parsed !== 'number') {
    throw new UsageError(`${option} ${JSON.stringify(text)} ${parsed.problem}`);
  }
}

/** Where limits are, and how they are edited. */
export interface LimitsPlace {
  readonly config: string;
  /** The value of `--limits`. */
  readonly limits: string | undefined;
  readonly socket: string | undefined;
  readonly dryRun: boolean;
}

type Note = (text: string) => void;

/**
 * Writes the limits of a user that is about to be added.
 * @returns what restores the file
 * @throws {WeirError} when nothing was written
 */
export async function writeLimits(
  user: string,
  keys: LimitKeys,
  place: LimitsPlace,
  env: CommandIo['env'],
  note: Note,
): Promise<() => Promise<void>> {
  const served = await servedLimits(place.config, { socket: place.socket, env });
  const path = place.limits ?? served;
  if (path === undefined) {
    throw new WeirError('no_limits', 'no limits file is known', {
      hint: 'name it with --limits FILE, and start Weir with it: weir run --limits FILE',
    });
  }
  const { undo } = await editLimits({
    path,
    like: place.config,
    change: (source) => setLimit(source, user, keys),
    dryRun: place.dryRun,
  });
  if (served === undefined || resolve(served) !== resolve(path)) {
    note(`no running Weir obeys the limits in ${path}: start it with --limits ${path}`);
  }
  return undo;
}

/**
 * Removes the limits of a user that was removed, unless another inbound has a user of this name.
 * @throws {WeirError} when the limits stay
 */
export async function dropLimits(
  user: WrittenUser,
  place: LimitsPlace,
  env: CommandIo['env'],
  note: Note,
): Promise<void> {
  const account = accountOf(user);
  const path = place.limits ?? (await servedLimits(place.config, { socket: place.socket, env }));
  if (account === undefined || path === undefined) return;
  const left = await listAccounts(place.config);
  const others = place.dryRun
    ? left.filter(({ inbound, index }) => inbound !== user.inbound || index !== user.index)
    : left;
  if (others.some((other) => accountOf(other) === account)) return;
  const { changed } = await editLimits({
    path,
    like: place.config,
    change: (source) => removeLimit(source, account),
    dryRun: place.dryRun,
  });
  if (changed && !place.dryRun) note(`the limits of ${quoted(account)} were removed from ${path}`);
}

/**
 * What a running Weir knows of the limits of accounts, by name; empty where none responds, or several serve the file.
 * @throws {WeirError} when the named one does not respond or serves another file
 */
export async function knownLimits(
  config: string,
  socket: string | undefined,
  env: CommandIo['env'],
): Promise<ReadonlyMap<string, AccountReport>> {
  try {
    const serving = await findServing(config, { socket, env });
    if (!serving) return new Map();
    const { accounts } = await requestAllLimits(serving.socket);
    return new Map(accounts.map((account) => [account.user, account]));
  } catch (error) {
    // The list is that of the file, whatever runs; an older Weir has no such request.
    if (socket !== undefined || !(error instanceof WeirError)) throw error;
    return new Map();
  }
}

export const LIMIT_COLUMNS = ['used', 'left', 'until', 'last seen'] as const;

/** The cells of `LIMIT_COLUMNS`. */
export function limitCells(report: AccountReport | undefined): readonly string[] {
  if (!report) return LIMIT_COLUMNS.map(() => '');
  const { used, left, until, last_seen: seen } = report;
  return [
    bytes(used),
    left === null ? '' : bytes(left),
    until === null ? '' : day(until - 1),
    seen === null ? '' : new Date(seen).toISOString().slice(0, 16).replace('T', ' '),
  ];
}

/** The fields of JSON; Unix milliseconds. */
export const limitFields = (report: AccountReport | undefined): object =>
  report
    ? {
        state: report.state,
        used: report.used,
        left: report.left,
        until: report.until,
        last_seen: report.last_seen,
      }
    : {};
