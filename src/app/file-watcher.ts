import { readlinkSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join, parse, resolve, sep } from 'node:path';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';

/** An editor writes in several steps; the last of them is what counts. */
const SETTLE_MS = 200;

/**
 * Tells when one of some files changes, be it written in place, replaced by renaming another over it,
 * removed or made anew: their folders are watched, which also sees what a watch on the old file
 * would miss.
 */
export class FileWatcher {
  readonly #paths: () => readonly string[];
  readonly #onChange: () => void;
  readonly #log: Logger;
  /** By folder: its watch, and the names in it that matter. */
  readonly #folders = new Map<
    string,
    { readonly watcher: FSWatcher; names: ReadonlySet<string> }
  >();
  #timer: NodeJS.Timeout | undefined;

  /** @param paths asked again by `refresh`. */
  constructor(paths: () => readonly string[], onChange: () => void, log: Logger) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#log = log;
    this.refresh();
  }

  /** Watches what is to be watched now. */
  refresh(): void {
    const wanted = namesByFolder(this.#paths());
    for (const [folder, { watcher }] of this.#folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const [folder, names] of wanted) {
      const watched = this.#folders.get(folder);
      if (watched) watched.names = names;
      else this.#watch(folder, names);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #watch(folder: string, names: ReadonlySet<string>): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        // Systems that do not say which file it was leave only the chance to look.
        if (name === null || this.#folders.get(folder)?.names.has(name)) this.#settle();
      });
      watcher.on('error', (error) => {
        this.#log.warn(`cannot watch ${folder} any more: ${messageOf(error)}`);
        watcher.close();
        this.#folders.delete(folder);
      });
      this.#folders.set(folder, { watcher, names });
    } catch (error) {
      this.#log.warn(`cannot watch ${folder}: ${messageOf(error)}`);
    }
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onChange, SETTLE_MS);
  }
}

/** By folder, the names in it whose change may put another file in the place of one that matters. */
function namesByFolder(paths: readonly string[]): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>();
  for (const path of paths.flatMap(waypoints)) {
    const folder = dirname(path);
    const names = folders.get(folder) ?? new Set();
    folders.set(folder, names.add(basename(path)));
  }
  return folders;
}

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/** Every symbolic link on the way to a file, and where the way ends. */
function waypoints(path: string): string[] {
  const links: string[] = [];
  let [here, ahead] = fromRoot(resolve(path));
  while (ahead.length > 0) {
    const [name = '', ...rest] = ahead;
    here = join(here, name);
    ahead = rest;
    const target = linkTarget(here);
    if (target === undefined) continue;
    links.push(here);
    if (links.length > MOST_LINKS) break;
    [here, ahead] = fromRoot(resolve(dirname(here), target, ...rest));
  }
  return [...links, here];
}

function fromRoot(path: string): [root: string, names: string[]] {
  const { root } = parse(path);
  return [root, path.slice(root.length).split(sep)];
}

/** `undefined` for what is no link, or is not there at the moment: its folder tells when it comes. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
