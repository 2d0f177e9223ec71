import { readlinkSync, statSync, watch } from 'node:fs';
import { fileStamp } from '@weir/io/files';
import { dirname, isAbsolute, join, parse, sep } from 'node:path';
import { codeOf, messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { systemClock, type Clock, type Timer } from '@weir/io/time';

/** Milliseconds after the last of several changes until they are reported: editors write in several steps. */
const SETTLE_MS = 200;

/** Milliseconds between two comparisons of the files where the system does not report changes. */
const POLL_MS = 5_000;

/**
 * Reports each change in a directory until it is closed, with the name of the entry where the system reports it.
 * @throws the system's error
 */
export type WatchFolder = (
  folder: string,
  onEvent: (name: string | null) => void,
  onError: (error: Error) => void,
) => { close(): void };

interface FileWatcherOptions {
  readonly clock?: Clock;
  readonly watchFolder?: WatchFolder;
}

interface WatchedFolder {
  /** `undefined` for a directory that does not exist or cannot be watched. */
  watch: { close(): void } | undefined;
  /** Entries that are on the path of a watched file. */
  readonly names: Set<string>;
}

/**
 * Reports changes of files: a file is written in place, replaced by a rename, removed, created again, or resolves to
 * another file because a directory or symbolic link anywhere on its path was replaced.
 *
 * Every directory on the path of each file is watched for the one entry that the path uses. A watch follows the
 * directory itself, not its path, so all watches are restarted after a change and before it is reported: earlier
 * changes are then visible when the files are read, and later ones are reported separately. Where a directory cannot be
 * watched (limits of the system, no permission to read it), the files are also compared by `stat` every 5 seconds.
 */
export class FileWatcher {
  readonly #paths: () => readonly string[];
  readonly #onChange: () => void;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #watchFolder: WatchFolder;
  #watched: readonly string[] = [];
  #folders = new Map<string, WatchedFolder>();
  /** Directories that cannot be watched; logged once until they can be again. */
  #failed = new Set<string>();
  /** State of the files at the last comparison. */
  #states = '';
  #settling: Timer | undefined;
  #polling: Timer | undefined;

  /** @param paths called again by `refresh` */
  constructor(
    paths: () => readonly string[],
    onChange: () => void,
    log: Logger,
    { clock = systemClock, watchFolder = watchBySystem }: FileWatcherOptions = {},
  ) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#log = log;
    this.#clock = clock;
    this.#watchFolder = watchFolder;
    this.refresh();
  }

  /**
   * Watches the current paths.
   * @returns whether any path is new: its file may have changed after it was read and before it was watched
   */
  refresh(): boolean {
    const before = new Set(this.#watched);
    this.#watched = this.#paths();
    const more = this.#watched.some((path) => !before.has(path));
    if (more || this.#watched.length < before.size) this.#arm();
    return more;
  }

  close(): void {
    this.#settling?.cancel();
    this.#polling?.cancel();
    closeAll(this.#folders);
  }

  /** Restarts all watches, and records the state of the files for the next comparison. */
  #arm(): void {
    const old = this.#folders;
    const failedBefore = this.#failed;
    this.#folders = new Map();
    this.#failed = new Set();
    // A directory is watched before its entry is looked up, so that no change is missed in between.
    for (const path of this.#watched) {
      walk(path, (folder, name) => this.#watch(folder, name, failedBefore));
    }
    closeAll(old);
    this.#states = this.#watched.map(stateOf).join();
    this.#polling?.cancel();
    if (this.#failed.size > 0) this.#pollLater();
  }

  #watch(folder: string, name: string, failedBefore: ReadonlySet<string>): void {
    const watched = this.#folders.get(folder);
    if (watched) {
      watched.names.add(name);
      return;
    }
    const added: WatchedFolder = { watch: undefined, names: new Set([name]) };
    this.#folders.set(folder, added);
    try {
      added.watch = this.#watchFolder(
        folder,
        (changed) => {
          if (changed === null || added.names.has(changed)) this.#settle();
        },
        (error) => {
          added.watch?.close();
          this.#fail(folder, error, this.#failed);
          this.#pollLater();
        },
      );
    } catch (error) {
      // The watch of the parent reports when a missing directory is created.
      if (!isMissing(error)) this.#fail(folder, error, failedBefore);
    }
  }

  #fail(folder: string, error: unknown, known: ReadonlySet<string>): void {
    if (!known.has(folder)) {
      const instead = `comparing the files every ${POLL_MS / 1000} s instead`;
      this.#log.warn(`cannot watch ${folder}: ${messageOf(error)}; ${instead}`);
    }
    this.#failed.add(folder);
  }

  #settle(): void {
    this.#settling?.cancel();
    this.#settling = this.#clock.after(SETTLE_MS, () => this.#report());
  }

  #report(): void {
    this.#arm();
    this.#onChange();
  }

  #pollLater(): void {
    this.#polling?.cancel();
    this.#polling = this.#clock.after(POLL_MS, () => this.#poll());
  }

  /** Compares the files, and retries to watch them. */
  #poll(): void {
    const before = this.#states;
    this.#arm();
    if (this.#states !== before) this.#onChange();
  }
}

const watchBySystem: WatchFolder = (folder, onEvent, onError) =>
  watch(folder, { persistent: false }, (_event, name) => onEvent(name)).on('error', onError);

function closeAll(folders: Map<string, WatchedFolder>): void {
  for (const { watch } of folders.values()) watch?.close();
  folders.clear();
}

const isMissing = (error: unknown): boolean =>
  codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

/** Identifies the file of a path and its last write. */
function stateOf(path: string): string {
  try {
    return fileStamp(statSync(path, { bigint: true }));
  } catch (error) {
    return codeOf(error) ?? messageOf(error);
  }
}

/** Maximum number of symbolic links that Linux follows on one path: path_resolution(7). */
const MOST_LINKS = 40;

/**
 * Resolves a path as the system does (path_resolution(7)), through every symbolic link.
 * @param step called with each entry and its directory before the entry is looked up
 */
function walk(path: string, step: (folder: string, name: string) => void): void {
  const absolute = isAbsolute(path) ? path : process.cwd() + sep + path;
  const { root } = parse(absolute);
  let here = root;
  let links = 0;
  const ahead = absolute.slice(root.length).split(sep);
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      here = dirname(here);
      continue;
    }
    step(here, name);
    const next = join(here, name);
    const target = linkTarget(next);
    if (target === undefined) {
      here = next;
      continue;
    }
    links++;
    if (links > MOST_LINKS) return;
    if (isAbsolute(target)) here = root;
    ahead.unshift(...target.split(sep));
  }
}

/**
 * The target of a symbolic link; `undefined` for any other entry, and for a missing one, whose creation the watch of
 * its directory reports.
 */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
