import { RegexCache } from '@weir/proxy/names';
import { loadConfig, type LoadedConfig, type LoadHooks } from '../load-config.ts';
import { baseAfter, shiftNode } from '../places.ts';
import { decodeSource } from '../sources/decode-source.ts';
import { DEFAULT_CONFIG } from '../sources/default-config.ts';
import type { ConfigSource } from '../sources/documents.ts';
import type { FileReader } from '../sources/input-files.ts';
import { subscribePath } from '../tables/subscribe.ts';
import { parseToml } from '../toml/parse.ts';
import { effectiveConfig } from './effective-config.ts';
import type { ShownTable } from './shown-value.ts';

/** The effective configuration of a file and of its subscribe file, with secrets starred. */
export interface LoadedEffective extends Pick<LoadedConfig, 'spec' | 'warnings'> {
  readonly table: ShownTable;
  /** The path of the subscribe file as the configuration names it; `undefined` without one. */
  readonly subscribe: string | undefined;
}

/**
 * Loads a configuration and describes the effective one.
 *
 * @throws {ConfigError}
 */
export async function loadEffective(
  { path, bytes: given }: ConfigSource,
  reader: FileReader,
  { onLogLevel }: Pick<LoadHooks, 'onLogLevel'> = {},
): Promise<LoadedEffective> {
  const files = new KeptFiles(reader);
  const { spec, warnings, merged, places } = await loadConfig({ path, bytes: given }, files, {
    regexes: new RegexCache(),
    serveApi: true,
    onLogLevel,
  });
  const bytes =
    given ?? (path === undefined ? Buffer.from(DEFAULT_CONFIG) : await files.read(path));
  const source = decodeSource(bytes, path);
  const nodes = subscribePath(merged.file, source);
  const subscribe =
    nodes === undefined
      ? undefined
      : shiftNode(parseToml(decodeSource(await files.read(nodes), nodes).text), baseAfter(source));
  const table = effectiveConfig({
    config: parseToml(source.text),
    subscribe: subscribe?.kind === 'table' ? subscribe : undefined,
    merged,
    places,
    spec,
  });
  return { spec, warnings, table, subscribe: nodes };
}

/** Keeps the documents of a load, so that the described files are those that were loaded. */
class KeptFiles implements FileReader {
  readonly #files: FileReader;
  readonly #kept = new Map<string, Uint8Array>();

  constructor(files: FileReader) {
    this.#files = files;
  }

  async read(path: string): Promise<Uint8Array> {
    const bytes = this.#kept.get(path) ?? (await this.#files.read(path));
    this.#kept.set(path, bytes);
    return bytes;
  }

  sha256(path: string): Promise<string> {
    return this.#files.sha256(path);
  }

  isPublic(path: string): Promise<boolean> {
    return this.#files.isPublic(path);
  }
}
