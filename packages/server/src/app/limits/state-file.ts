import { codeOf, messageOf, WeirError } from '@weir/base';
import { openRegularFile } from '@weir/io/files';
import { type AccountState, hasEnded } from '@weir/proxy/limits';
import { isNumber, isObject, isText, listOf, shape } from '@weir/proxy/schema';
import { lockEdited } from '../lock-file.ts';
import { createFile, replaceFile, systemFiles } from '../replace-file.ts';

/** The version of the format; a file of another one is rejected. */
const VERSION = 1;
/** Bytes of the largest file that is read: some 100,000 accounts with long names. */
const MOST_BYTES = 64 << 20;
/** Milliseconds to wait for another process that changes the file. */
const LOCK_MS = 2_000;
/** The permissions of a new file. */
const MODE = 0o600;

/** The file with the used bytes cannot be read, or has other contents. */
export class StateFileError extends WeirError {
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super('limits_state', `cannot read the used bytes of accounts from ${path}: ${reason}`, {
      ...options,
      hint: 'without this file the accounts begin at 0 again',
    });
  }
}

interface StoredStates {
  readonly version: typeof VERSION;
  readonly accounts: readonly AccountState[];
}

const isAmount = (value: unknown): boolean => isNumber(value) && value >= 0;

const isStored = shape<StoredStates>({
  version: (value) => value === VERSION,
  accounts: listOf(
    shape<AccountState>({
      user: isText,
      up: isAmount,
      down: isAmount,
      reset: (value) => ['never', 'daily', 'weekly', 'monthly'].some((name) => name === value),
      period: isAmount,
    }),
  ),
});

/**
 * Reads the used bytes of accounts, by name; none if there is no such file.
 * @throws {StateFileError}
 */
export async function readStates(path: string): Promise<Map<string, AccountState>> {
  let text: string;
  try {
    await using file = await openRegularFile(path);
    if ((await file.stat()).size > MOST_BYTES) throw new StateFileError(path, 'it is too large');
    text = await file.readFile('utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map();
    if (error instanceof StateFileError) throw error;
    throw new StateFileError(path, messageOf(error), { cause: error });
  }
  return new Map(statesIn(path, text).map((state) => [state.user, state]));
}

function statesIn(path: string, text: string): readonly AccountState[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new StateFileError(path, 'it is not JSON', { cause: error });
  }
  if (isStored(parsed)) return parsed.accounts;
  const version = isObject(parsed) ? parsed['version'] : undefined;
  const isNewer = isNumber(version) && version > VERSION;
  throw new StateFileError(path, isNewer ? 'it is of a newer Weir' : 'it has other contents');
}

/**
 * Replaces the file with states that are made of those that it has, while no other process changes it.
 *
 * @param now Unix milliseconds: states whose period has ended are removed
 * @param merge receives what is stored, and changes it to what is to be stored
 * @throws {StateFileError} when it cannot be read
 * @throws {LockError} when another process changes it for longer than 2 s
 * @throws the system's error when it cannot be written; it is then unchanged
 */
export async function changeStates(
  path: string,
  now: number,
  merge: (states: Map<string, AccountState>) => void,
): Promise<void> {
  await ensureFile(path);
  const lock = await lockEdited(path, { waitMs: LOCK_MS });
  try {
    const states = await readStates(path);
    for (const [user, { reset, period }] of states) {
      if (hasEnded(reset, period, now)) states.delete(user);
    }
    merge(states);
    await replaceFile(path, Buffer.from(textOf(states.values())), FILES);
  } finally {
    await lock?.[Symbol.asyncDispose]();
  }
}

const textOf = (states: Iterable<AccountState>): string =>
  `${JSON.stringify({ version: VERSION, accounts: [...states] } satisfies StoredStates)}\n`;

async function ensureFile(path: string): Promise<void> {
  try {
    await createFile(path, textOf([]), MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Without the sync of the folder, whose failure comes after the file was replaced: what is in it would be added a second
 * time.
 */
const FILES = { ...systemFiles, syncFolder: () => Promise.resolve() };
