import type { ConfigFile, SubscribeFile } from './config-file.ts';
import { JoinedPlaces, type Places, type SourceText } from './source-text.ts';
import { decodeSource } from './decode-source.ts';
import { DocumentReadError } from '../errors.ts';
import { FileReadError, type FileReader, within } from './input-files.ts';
import { readTables } from './object-document.ts';
import { readConfigFile, readConfigObject, readSubscribeFile } from './read-tables.ts';
import { type Picks, withPicks } from '../picks.ts';
import { printable } from '@weir/base/printable';
import { subscribePath } from '../tables/subscribe.ts';
import { allProtocolsLoaded, loadProtocols } from '@weir/proxy/protocols';
import { KeysUnknownError } from '../shown-keys.ts';

/** The source of a configuration: plain data. Without a path, contents and JSON it is the built-in configuration. */
export interface ConfigSource {
  /** The path of the file, which errors name. */
  readonly path?: string | undefined;
  /** The contents of the file, which is then not read. */
  readonly bytes?: Uint8Array | undefined;
  /** The configuration as JSON, by `jsonOf`, in place of a file. */
  readonly json?: string | undefined;
  /** The directory of relative paths; the process's working directory by default. */
  readonly directory?: string | undefined;
  /** Picks of groups and of `default` that take the place of those of the file where both names exist. */
  readonly picks?: Picks | undefined;
}

/** A configuration and its subscribe file: decoded, but not yet checked further. */
export interface Documents {
  /** The configuration file's own bytes, or those of the JSON. */
  readonly bytes: Uint8Array;
  readonly source: SourceText;
  /** The configuration file, with the picks of the source. */
  readonly file: ConfigFile;
  /** The subscribe file; `undefined` without `[subscribe]`. */
  readonly subscribe: SubscribeFile | undefined;
  /** The picks of the source that are in `file`: their group and target exist. */
  readonly picks: Picks;
  /** The places of both files. */
  readonly places: Places;
}

/**
 * Reads the configuration and the subscribe file that it names.
 *
 * @param onLogLevel as in `readConfigFile`
 * @throws {DocumentReadError} when a file cannot be read or is not named
 * @throws {ConfigError} of kind `invalid` for a file of the wrong shape
 */
export async function readDocuments(
  given: ConfigSource,
  files: FileReader,
  onLogLevel?: (level: string) => void,
): Promise<Documents> {
  const { bytes, source, file } = await readOwn(given, files, onLogLevel);
  const subscribe = await readSubscribe(file, source, within(given.directory, files));
  const picked = withPicks(given.picks, file, subscribe?.file);
  return {
    bytes,
    source,
    ...picked,
    subscribe: subscribe?.file,
    places: subscribe ? new JoinedPlaces(source, subscribe.source) : source,
  };
}

/** Reads the configuration without its subscribe file. */
async function readOwn(
  { path, bytes: given, json }: ConfigSource,
  files: FileReader,
  onLogLevel?: (level: string) => void,
): Promise<Pick<Documents, 'bytes' | 'source' | 'file'>> {
  if (json !== undefined) {
    const { root, source } = readTables(JSON.parse(json));
    return { bytes: Buffer.from(json), source, file: readConfigObject(root, source, onLogLevel) };
  }
  const bytes = given ?? (await readConfig(path, files));
  const source = await withShownKeys(() => decodeSource(bytes, path));
  const file = await withShownKeys(() => readConfigFile(source, onLogLevel));
  return { bytes, source, file };
}

async function readConfig(path: string | undefined, files: FileReader): Promise<Uint8Array> {
  if (path === undefined) return Buffer.from(DEFAULT_CONFIG);
  try {
    return await files.read(path);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    throw new DocumentReadError('io', printable(error.message), { cause: error });
  }
}

async function readSubscribe(
  config: ConfigFile,
  source: SourceText,
  files: FileReader,
): Promise<{ readonly file: SubscribeFile; readonly source: SourceText } | undefined> {
  const path = subscribePath(config, source);
  if (path === undefined) return undefined;
  let bytes: Uint8Array;
  try {
    bytes = await files.read(path);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    throw new DocumentReadError('io', printable(`subscribe file ${path}: ${error.message}`), {
      cause: error,
    });
  }
  return withShownKeys(() => {
    const text = decodeSource(bytes, path);
    return { file: readSubscribeFile(text, source), source: text };
  });
}

/**
 * Runs `work`, whose errors show lines of a document. The tables of all protocols determine the values that may be
 * shown: they are loaded after an error, and `work` then runs again for its error.
 */
export async function withShownKeys<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof KeysUnknownError) || allProtocolsLoaded()) throw error;
  }
  await loadProtocols();
  return work();
}

/** Listeners for SOCKS, HTTP and the control API, for clients on this machine only. */
export const LOCAL_LISTENERS = `[[inbound]]
tag = "socks"
protocol = "socks"
listen = "127.0.0.1"
port = 1080

[[inbound]]
tag = "http"
protocol = "http"
listen = "127.0.0.1"
port = 8080

[api]
listen = "127.0.0.1:9090"
`;

/** The configuration used without a file; `config/default.toml` is the same with comments. */
export const DEFAULT_CONFIG = `${LOCAL_LISTENERS}
[[outbound]]
tag = "direct"
protocol = "freedom"
`;
