import { FileDigests } from '../../app/loading/file-digests.ts';
import { toLoadResult, toPreparedConfig } from '../../app/loading/tasks.ts';
import { loadConfig } from '../../config/load-config.ts';
import type { FileReader } from '../../config/sources/input-files.ts';
import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { silentLogger } from '../../log/output.ts';
import { OwnListeners } from '../../net/own-listeners.ts';
import { systemClock } from '../../net/time/clock.ts';
import { Supervisor } from '../../supervisor/supervisor.ts';

/** Reads files from disk, except one whose contents after an edit are in memory. */
class FilesWith implements FileReader {
  readonly #files = new FileDigests();
  readonly #path: string;
  readonly #bytes: Uint8Array;

  constructor(path: string, bytes: Uint8Array) {
    this.#path = path;
    this.#bytes = bytes;
  }

  async read(path: string): Promise<Uint8Array> {
    return path === this.#path ? this.#bytes : this.#files.read(path);
  }

  sha256(path: string): Promise<string> {
    return this.#files.sha256(path);
  }

  isPublic(path: string): Promise<boolean> {
    return this.#files.isPublic(path);
  }
}

export interface MergedFiles {
  /** The configuration. */
  readonly config: string;
  readonly configBytes: Uint8Array;
  /** The subscribe file, as `[subscribe].path` resolves to it. */
  readonly nodes: string;
  readonly nodesBytes: Uint8Array;
}

/**
 * Checks a configuration together with an unwritten subscribe file, as `--test` does.
 * @throws {ConfigError | ApplyError}
 */
export async function checkMerged(merged: MergedFiles): Promise<void> {
  const { config, configBytes, nodes, nodesBytes } = merged;
  const regexes = new RegexCache();
  const files = new FilesWith(nodes, nodesBytes);
  const source = { path: config, bytes: configBytes };
  const loaded = await loadConfig(source, files, { regexes, serveApi: true });
  const supervisor = new Supervisor({
    clock: systemClock,
    log: silentLogger,
    regexes,
    ownListeners: new OwnListeners(),
  });
  await supervisor.check(toPreparedConfig(toLoadResult(loaded)));
}
