import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { access, constants, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LockFile } from '@weir/server/edits';
import { editText, encodedLike, setString } from '@weir/config/edit';
import { ConfigError, renderConfigError } from '@weir/config';
import {
  balancerTags,
  type ConfigFile,
  decodeSource,
  documentError,
  readConfigFile,
  withShownKeys,
} from '@weir/config/documents';
import { subscribePath } from '@weir/config/load';
import { TomlError } from '@weir/config/toml';
import { SubscribeError, type Source } from '../source.ts';
import { readSources } from '../files/sources-file.ts';
import { NO_STATE, readState, type SubscribeState } from '../files/state-file.ts';
import { readStored, type StoredChange } from '../files/stored-file.ts';
import { readNodeFile, type NodeFile } from '../nodes/node-file.ts';

/** Name of a new subscribe file, in the directory of its configuration. */
const NEW_NODES = 'nodes.toml';

/** A configuration with its subscribe file, sources and state, as read. */
export interface Workspace {
  /** Path of the configuration. */
  readonly config: string;
  /** The bytes of the configuration as read. */
  readonly configRead: Uint8Array;
  /** The bytes of the configuration with `[subscribe].path`. */
  readonly configBytes: Uint8Array;
  /** Whether `configBytes` has a `[subscribe].path` that the file lacks. */
  readonly isPathNew: boolean;
  readonly file: ConfigFile;
  readonly paths: SubscribePaths;
  /** The bytes of the subscribe file; `undefined` if it does not exist. */
  readonly nodesBytes: Uint8Array | undefined;
  /** The bytes of the file of sources; `undefined` if it does not exist. */
  readonly sourcesBytes: Uint8Array | undefined;
  readonly sourcesText: string;
  readonly sources: readonly Source[];
  readonly state: SubscribeState;
}

/**
 * Reads the files of a configuration's subscriptions.
 * @param create adds `[subscribe].path` to a configuration that has none, in memory
 * @throws {SubscribeError | ConfigError}
 */
export async function openWorkspace(
  config: string,
  { create = false }: { readonly create?: boolean } = {},
): Promise<Workspace> {
  const written = await readStored(config);
  if (!written)
    throw new SubscribeError(`cannot read ${config}: no such file or directory`, {
      hint: '`weir import --output FOLDER URL` makes one, with the rules of the list if it has any',
    });
  let configBytes = written;
  const read = (): Promise<{ file: ConfigFile; nodes: string | undefined }> =>
    withShownKeys(() => {
      const source = decodeSource(configBytes, config);
      const file = readConfigFile(source);
      return { file, nodes: subscribePath(file, source) };
    });
  const hasTable = (await withShownKeys(() => readConfigFile(decodeSource(configBytes, config))))
    .subscribe?.value.path;
  const isPathNew = create && hasTable === undefined;
  if (isPathNew) {
    configBytes = editText(written, config, (source) =>
      setString(source, ['subscribe'], 'path', NEW_NODES),
    );
  }
  const { file, nodes } = await read();
  if (nodes === undefined) {
    throw new SubscribeError(`${config} has no [subscribe], and so no sources`, {
      hint: '`weir subscribe add NAME URL` adds the first one',
    });
  }
  const paths = subscribePaths(nodes);
  const [nodesBytes, sourcesBytes, stateBytes] = await Promise.all([
    readStored(nodes),
    readStored(paths.sources),
    readStored(paths.state),
  ]);
  const sourcesText = decodeSources(sourcesBytes ?? new Uint8Array(), paths.sources);
  const stateText = new TextDecoder().decode(stateBytes ?? new Uint8Array());
  const state = readState(stateText);
  return {
    config,
    configRead: written,
    configBytes,
    isPathNew,
    file,
    paths,
    nodesBytes,
    sourcesBytes,
    sourcesText,
    sources: readSources(sourcesText, paths.sources),
    state: state ?? NO_STATE,
  };
}

/** The text of the configuration, without its byte order mark. @throws {ConfigError} */
export const configText = ({ configBytes, config }: Workspace): string =>
  decodeSource(configBytes, config).text;

/** The workspace with another text of the configuration. @throws {ConfigError} when that is invalid */
export async function withConfigText(workspace: Workspace, text: string): Promise<Workspace> {
  const configBytes = encodedLike(workspace.configBytes, text);
  const file = await withShownKeys(() =>
    readConfigFile(decodeSource(configBytes, workspace.config)),
  );
  return { ...workspace, configBytes, file };
}

/** Whether this process may replace the configuration: a service often may not. */
export async function canWriteConfig({ config }: Workspace): Promise<boolean> {
  try {
    await access(dirname(await realpath(config)), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Decodes a file of sources, without the byte order mark.
 *
 * @throws {SubscribeError} without quoting a line, which may contain a URL
 */
function decodeSources(bytes: Uint8Array, path: string): string {
  if (!isUtf8(bytes)) throw new SubscribeError(`${path} is not UTF-8`);
  return new TextDecoder().decode(bytes);
}

/** The nodes of the subscribe file. @throws {SubscribeError} when the file is not TOML */
export async function nodeFileOf({ nodesBytes, paths }: Workspace): Promise<NodeFile> {
  return parseNodes(nodesBytes ?? new Uint8Array(), paths.nodes);
}

/** Parses a subscribe file. @throws {SubscribeError} when it is not UTF-8 or not TOML */
export async function parseNodes(bytes: Uint8Array, path: string): Promise<NodeFile> {
  try {
    return await withShownKeys(() => {
      const source = decodeSource(bytes, path);
      try {
        return readNodeFile(source.text);
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        throw documentError(source, error.message, error.span, { cause: error });
      }
    });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new SubscribeError(`${path} cannot be edited: ${renderConfigError(error)}`, {
      cause: error,
    });
  }
}

/** Names of the configuration's outbounds and balancers. */
export const takenNames = ({ file }: Workspace): readonly string[] => [
  ...file.outbound.map(({ value }) => value.tag.value),
  ...balancerTags(file),
];

/** The sources with these names; all sources if there are none. @throws {SubscribeError} for an unknown name */
export function chosenSources(
  { sources, paths }: Workspace,
  names: readonly string[],
): readonly Source[] {
  if (names.length === 0) return sources;
  return [...new Set(names)].map((name) => {
    const found = sources.find((source) => source.name === name);
    if (found) return found;
    throw new SubscribeError(`no source ${JSON.stringify(name)} in ${paths.sources}`, {
      hint: '`weir subscribe list` shows those that there are',
    });
  });
}

/** SHA-256 of a text, in hex. */
export const digestOf = (text: string | Uint8Array): string => hash('sha256', text);

/** The bytes of the subscribe file with other nodes, in its encoding. */
export const nodesBytesOf = ({ nodesBytes }: Workspace, text: string): Uint8Array =>
  encodedLike(nodesBytes ?? new Uint8Array(), text);

/** New contents of one of the two files. */
export interface FileWrite {
  readonly file: 'nodes' | 'config';
  readonly bytes: Uint8Array;
}

/**
 * The file changes of consecutive writes, ordered so that the files are valid together after each one: a balancer names
 * new nodes after they are added, and nodes are removed after no balancer names them.
 */
export function storedChanges(
  { config, configRead, paths, nodesBytes }: Workspace,
  writes: readonly FileWrite[],
): readonly StoredChange[] {
  const places: Record<FileWrite['file'], Omit<StoredChange, 'after'>> = {
    nodes: { path: paths.nodes, before: nodesBytes, access: { like: config } },
    config: { path: config, before: configRead },
  };
  const changes: StoredChange[] = [];
  for (const [index, { file, bytes }] of writes.entries()) {
    // Of consecutive writes of the same file, the last counts.
    if (writes[index + 1]?.file === file) continue;
    const place = places[file];
    const { before } = place;
    if (Buffer.compare(before ?? new Uint8Array(), bytes) === 0) continue;
    changes.push({ ...place, after: bytes });
    places[file] = { ...place, before: bytes };
  }
  return changes;
}

/** The files of a configuration's subscriptions, all in the directory of its subscribe file. */
interface SubscribePaths {
  /** The subscribe file with the nodes, `[subscribe].path`. */
  readonly nodes: string;
  /** The sources of the nodes, with their URLs. */
  readonly sources: string;
  /** The state of the sources: see `SubscribeState`. */
  readonly state: string;
  /** The lock file of a process that changes these files. */
  readonly lock: string;
}

const EXTENSION = '.toml';

/**
 * The paths of the files that belong to a subscribe file: `nodes.toml` has `nodes.sources.toml` and others beside it.
 */
export function subscribePaths(nodes: string): SubscribePaths {
  const base = nodes.endsWith(EXTENSION) ? nodes.slice(0, -EXTENSION.length) : nodes;
  return {
    nodes,
    sources: `${base}.sources.toml`,
    state: `${base}.state.json`,
    lock: `${base}.lock`,
  };
}

/** Locks the files of subscriptions for a change. @throws {LockError} when another process is changing them */
export const lockSubscriptions = ({ lock }: Pick<SubscribePaths, 'lock'>): Promise<LockFile> =>
  LockFile.acquire(lock, { what: 'the subscriptions' });
