import {
  ControlError,
  stale,
  unknownGroup,
  unknownTarget,
  type PickResult,
  type IfMatch,
} from '../api/contract.ts';
import { DEFAULT_GROUP } from '@weir/config';
import { messageOf } from '@weir/base';
import { unlessAborted } from '@weir/io/time';
import type { ReloadReport } from '../supervisor/reload-report.ts';
import { toControlError, toReadError } from './outcomes.ts';
import { FileDigests } from './loading/file-digests.ts';
import { Mutex } from './mutex.ts';
import { replaceFile, systemFiles, type ReplaceFileSystem } from './replace-file.ts';
import type { Configuration } from './configuration.ts';
import { etagOf } from './loading/inline-runner.ts';
import type { RoutesRead } from './loading/tasks.ts';
import type { SourceChange } from './reloader.ts';

/** The parts of a Configuration that picks use. */
export type PickedConfiguration = Pick<Configuration, 'path' | 'routes' | 'edit' | 'check'>;

/** Reads the routes from the files, and writes picks into the configuration file. */
export class Picker {
  readonly #configuration: PickedConfiguration;
  readonly #reload: (change?: SourceChange) => Promise<ReloadReport>;
  readonly #fs: ReplaceFileSystem;
  readonly #lockMs: number;
  readonly #edits = new Mutex();

  /**
   * @param reload applies the edited file, or a change of the picks in memory
   * @param lockMs milliseconds to wait for an edit by another process
   */
  constructor(
    configuration: PickedConfiguration,
    reload: (change?: SourceChange) => Promise<ReloadReport>,
    fs = systemFiles,
    lockMs = LOCK_MS,
  ) {
    this.#configuration = configuration;
    this.#reload = reload;
    this.#fs = fs;
    this.#lockMs = lockMs;
  }

  /** The routes as the files have them. @throws {ControlError} */
  async routes(): Promise<PickedRoutes> {
    const { view, etag, picks } = await this.#read();
    return { view, etag, picks };
  }

  /**
   * Sets the pick of a group in the file, in place of one in memory, and reloads. Picks are serialised, each until its
   * reload has ended; other reloads do not wait for them. Commands that edit the file and picks wait for each other until
   * the file is written.
   * @param signal abandons an edit that has not been written yet, or the wait for the reload, so that the next edit can
   * begin; a write that has begun is finished
   * @throws {ControlError}
   * @throws the signal's reason
   */
  async pick(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    using _edit = await this.#begin(signal);
    const { etag, inMemory } = await this.#edit(group, target, ifMatch, signal);
    const change = inMemory ? withPick(group, undefined) : undefined;
    return await this.#applied(this.#reload(change), etag, signal);
  }

  /**
   * Sets the pick of a group in memory, where it takes the place of the file's until the process ends or the group or
   * the target no longer exists, and reloads. Otherwise as `pick`.
   */
  async pickInMemory(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    using _edit = await this.#begin(signal);
    const { etag, picks } = await this.#readFor(group, target, ifMatch, signal);
    const change = picks.get(group) === target ? undefined : withPick(group, target);
    return await this.#applied(this.#reload(change), etag, signal);
  }

  /** Waits for the picks before. */
  async #begin(signal: AbortSignal): Promise<Disposable> {
    const release = await this.#edits.acquire(signal);
    return { [Symbol.dispose]: release };
  }

  /** Waits for a reload, whose error gets the entity tag. */
  async #applied(
    reload: Promise<ReloadReport>,
    etag: string,
    signal: AbortSignal,
  ): Promise<PickResult> {
    try {
      return { report: await step(reload, signal), etag };
    } catch (error) {
      signal.throwIfAborted();
      throw toControlError(error).withEtag(etag);
    }
  }

  /** Reads the routes for a pick. @throws {ControlError} for a pick that they do not allow */
  async #readFor(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<RoutesRead> {
    const read = await step(this.#read(signal), signal);
    const { view, etag } = read;
    if (ifMatch.kind === 'is' && ifMatch.etag !== etag) throw stale(etag);
    const { groups, targets } = view;
    if (group !== DEFAULT_GROUP && !groups.some(({ name }) => name === group)) {
      throw unknownGroup(group);
    }
    if (!targets.some(({ name }) => name === target)) throw unknownTarget(target);
    return read;
  }

  /** Edits the file without reloading; returns its new entity tag, and whether the group has a pick in memory. */
  async #edit(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<{ readonly etag: string; readonly inMemory: boolean }> {
    // Locked before the read: contents read before waiting for a command would be out of date.
    await using lock = await this.#lock(signal);
    const read = await this.#readFor(group, target, ifMatch, signal);
    const { bytes: before, etag } = read;
    const inMemory = read.picks.has(group);
    const edit = { bytes: before, subscribe: read.subscribe, group, target };
    const edited = await step(inControl(this.#configuration.edit(edit, signal)), signal);
    if (Buffer.compare(edited, before) === 0) return { etag, inMemory };
    await step(inControl(this.#configuration.check(edited)), signal);
    // Reported last, after all errors that do not depend on the lock.
    if (lock.failure) throw lock.failure;
    await this.#write(before, edited, signal);
    return { etag: etagOf(edited), inMemory };
  }

  async #write(before: Uint8Array, edited: Uint8Array, signal: AbortSignal): Promise<void> {
    const { path } = this.#configuration;
    if (path === undefined) {
      throw new ControlError('failed', 'the built-in configuration has no file to write to');
    }
    const now = await step(readAgain(path), signal);
    if (Buffer.compare(now, before) !== 0) throw stale(etagOf(now));
    try {
      await replaceFile(path, edited, this.#fs);
    } catch (error) {
      throw new ControlError('failed', `writing ${path}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Waits for the lock of the file; without it nothing may be written. @throws the signal's reason */
  async #lock(signal: AbortSignal): Promise<EditLock> {
    const { path } = this.#configuration;
    if (path === undefined) return new EditLock();
    // Not by `step`: a lock acquired after an abort would not be released.
    try {
      const { lockEdited } = await import('./lock-file.ts');
      return new EditLock(await lockEdited(path, { waitMs: this.#lockMs, signal }));
    } catch (error) {
      signal.throwIfAborted();
      const message = `writing ${path}: ${messageOf(error)}`;
      return new EditLock(undefined, new ControlError('failed', message, { cause: error }));
    }
  }

  async #read(signal?: AbortSignal): Promise<RoutesRead> {
    try {
      return await this.#configuration.routes(signal);
    } catch (error) {
      throw toReadError(error, this.#configuration.path);
    }
  }
}

/** The routes, and the picks among them that are in memory. */
export type PickedRoutes = Pick<RoutesRead, 'view' | 'etag' | 'picks'>;

/** Sets a pick in memory, or removes it. */
const withPick =
  (group: string, target: string | undefined): SourceChange =>
  (current) => {
    const picks = new Map(current.picks);
    if (target === undefined) picks.delete(group);
    else picks.set(group, target);
    return { ...current, picks };
  };

/** Milliseconds to wait for an edit by another process. */
const LOCK_MS = 10_000;

/** The lock of the file, or why it could not be acquired; neither where there can be none. */
class EditLock implements AsyncDisposable {
  readonly failure: ControlError | undefined;
  readonly #lock: AsyncDisposable | undefined;

  constructor(lock?: AsyncDisposable, failure?: ControlError) {
    this.failure = failure;
    this.#lock = lock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock?.[Symbol.asyncDispose]();
  }
}

/** Reads the file again. @throws {ControlError} whose message does not name the file */
async function readAgain(path: string): Promise<Uint8Array> {
  try {
    return await new FileDigests().read(path);
  } catch (error) {
    throw toControlError(error);
  }
}

/**
 * Awaits one step of an edit. After an abort no step follows, not even within the same turn as the end of `work`.
 * @throws the signal's reason
 */
async function step<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const result = await unlessAborted(work, signal);
  signal.throwIfAborted();
  return result;
}

async function inControl<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toControlError(error);
  }
}
