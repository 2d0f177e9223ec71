import { readdir, realpath, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { jsonIn } from '@weir/base/text/json';
import { fileStamp, openRegularFile } from '@weir/io/files';
import { type AccountState, hasEnded, isReset } from '@weir/proxy/limits';
import { isNumber, isObject, isText, listOf, shape } from '@weir/proxy/schema';
import { lockEdited } from '../lock-file.ts';
import { createFile, isTemporaryName, replaceFile, systemFiles } from '../replace-file.ts';

/** The version of the format; a file of another one is rejected. */
const VERSION = 1;
/** Bytes of the largest file that is read: some 100,000 accounts with long names. */
const MOST_BYTES = 64 << 20;
/** Milliseconds to wait for another process that changes the file. */
const LOCK_MS = 2_000;
/** The permissions of a new file. */
const MODE = 0o600;
/** Accounts that are read, merged or written in one turn of the event loop. */
const ACCOUNTS_A_TURN = 1000;

/** A file has one account a line, so that it is read in parts; any other JSON of the same contents is read as a whole. */
const HEAD = `{"version":${VERSION},"accounts":[\n`;
const TAIL = '\n]}\n';
const EMPTY = `{"version":${VERSION},"accounts":[]}\n`;

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
      reset: isReset,
      period: isAmount,
    }),
  ),
});

/** What is to be stored of one account. */
export interface StateChange {
  readonly user: string;
  /** Returns what is to be stored, given what is. */
  merge(stored: AccountState | undefined): AccountState;
}

/** An account in the file, with the line that it has there once it was written. */
interface Entry {
  readonly state: AccountState;
  line: string | undefined;
}

/**
 * The file with the used bytes of accounts, which several processes may share.
 *
 * Tens of thousands of accounts may change in every second: what the file had when this process wrote it is not read
 * again, and everything is done in turns of the event loop.
 */
export class StateFile {
  readonly path: string;
  /** What the file has, as long as its stamp is this one. */
  #known: { readonly stamp: string; readonly entries: Map<string, Entry> } | undefined;

  /** Whether what killed processes have left beside the file is removed. */
  #isClean = false;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Reads the used bytes of accounts; none if there is no such file.
   * @throws {StateFileError}
   */
  async read(): Promise<readonly AccountState[]> {
    return Array.from(await this.#read(), ([, { state }]) => state);
  }

  /**
   * Replaces the file with states that are made of those that it has, while no other process changes it.
   *
   * @param now Unix milliseconds: states whose period has ended are removed
   * @throws {StateFileError} when it cannot be read
   * @throws {LockError} when another process changes it for longer than 2 s
   * @throws the system's error when it cannot be written; it is then unchanged
   */
  async change(now: number, changes: readonly StateChange[]): Promise<void> {
    await ensureFile(this.path);
    const lock = await lockEdited(this.path, { waitMs: LOCK_MS });
    try {
      if (lock && !this.#isClean) await removeTemporaries(this.path);
      this.#isClean = true;
      const entries = await this.#read();
      // Until it is written, the file has other contents.
      this.#known = undefined;
      await inTurns(entries.values(), ({ state: { user, reset, period } }) => {
        if (hasEnded(reset, period, now)) entries.delete(user);
      });
      await inTurns(changes, (change) => {
        const state = change.merge(entries.get(change.user)?.state);
        entries.set(change.user, { state, line: undefined });
      });
      await replaceFile(this.path, await bytesOf(entries), FILES);
      // Without it the file is read again: it has been written, which is all that an error here could deny.
      const stamp = await stampOf(this.path).catch(() => undefined);
      if (stamp !== undefined) this.#known = { stamp, entries };
    } finally {
      await lock?.[Symbol.asyncDispose]();
    }
  }

  async #read(): Promise<Map<string, Entry>> {
    const { path } = this;
    let text: string;
    try {
      if (this.#known?.stamp === (await stampOf(path))) return this.#known.entries;
      await using file = await openRegularFile(path);
      if ((await file.stat()).size > MOST_BYTES) throw new StateFileError(path, 'it is too large');
      text = await file.readFile('utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new Map();
      if (error instanceof StateFileError) throw error;
      throw new StateFileError(path, messageOf(error), { cause: error });
    }
    const entries = new Map<string, Entry>();
    const states = (await statesByLine(text)) ?? statesIn(path, text);
    await inTurns(states, (state) => entries.set(state.user, { state, line: undefined }));
    return entries;
  }
}

/**
 * Removes temporary files that killed processes have left: the file is written in every second, so that many kills hit a
 * write. The lock must be held. What cannot be removed stays.
 */
async function removeTemporaries(path: string): Promise<void> {
  const target = await realpath(path);
  const folder = dirname(target);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (!isTemporaryName(name, basename(target))) continue;
    await unlink(join(folder, name)).catch(() => undefined);
  }
}

const stampOf = async (path: string): Promise<string> =>
  fileStamp(await stat(path, { bigint: true }));

/** Calls `each` with every item, `ACCOUNTS_A_TURN` in one turn of the event loop. */
async function inTurns<Item>(items: Iterable<Item>, each: (item: Item) => void): Promise<void> {
  let left = ACCOUNTS_A_TURN;
  for (const item of items) {
    each(item);
    if (--left > 0) continue;
    left = ACCOUNTS_A_TURN;
    await turn();
  }
}

/** The states of a file with one account a line; `undefined` for any other text. */
async function statesByLine(text: string): Promise<readonly AccountState[] | undefined> {
  if (!text.startsWith(HEAD) || !text.endsWith(TAIL)) return undefined;
  const states: AccountState[] = [];
  const end = text.length - TAIL.length;
  for (let start = HEAD.length; start < end;) {
    let next = start;
    for (let lines = 0; lines < ACCOUNTS_A_TURN && next < end; lines++) {
      const eol = text.indexOf('\n', next);
      next = eol < 0 ? end : Math.min(eol + 1, end);
    }
    const part = text.slice(start, next).replace(/,\n$/, '');
    const document = jsonIn(`${HEAD}${part}${TAIL}`);
    if (!isStored(document)) return undefined;
    for (const state of document.accounts) states.push(state);
    start = next;
    await turn();
  }
  return states;
}

function statesIn(path: string, text: string): readonly AccountState[] {
  const document = jsonIn(text);
  if (document === undefined) throw new StateFileError(path, 'it is not JSON');
  if (isStored(document)) return document.accounts;
  const version = isObject(document) ? document['version'] : undefined;
  const isNewer = isNumber(version) && version > VERSION;
  throw new StateFileError(path, isNewer ? 'it is of a newer Weir' : 'it has other contents');
}

async function bytesOf(entries: ReadonlyMap<string, Entry>): Promise<Uint8Array> {
  if (entries.size === 0) return Buffer.from(EMPTY);
  const parts: Buffer[] = [];
  let part = HEAD;
  let between = '';
  await inTurns(entries.values(), (entry) => {
    entry.line ??= JSON.stringify(entry.state);
    part += between + entry.line;
    between = ',\n';
    if (part.length < PART_LENGTH) return;
    parts.push(Buffer.from(part));
    part = '';
  });
  parts.push(Buffer.from(part + TAIL));
  return Buffer.concat(parts);
}

/** Characters that are encoded at once. */
const PART_LENGTH = 256 << 10;

async function ensureFile(path: string): Promise<void> {
  try {
    await createFile(path, EMPTY, MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Without the sync of the folder, whose failure comes after the file was replaced: what is in it would be added a second
 * time.
 */
const FILES = { ...systemFiles, syncFolder: () => Promise.resolve() };
