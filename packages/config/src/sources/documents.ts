import type { ConfigFile, SubscribeFile } from './config-file.ts';
import { JoinedPlaces, type Places, type SourceText } from './source-text.ts';
import { decodeSource } from './decode-source.ts';
import { DocumentReadError } from '../errors.ts';
import { FileReadError, type FileReader } from './input-files.ts';
import { readConfigFile, readSubscribeFile } from './read-tables.ts';
import { printable } from '@weir/base/printable';
import { subscribePath } from '../tables/subscribe.ts';
import { allProtocolsLoaded, loadProtocols } from '@weir/proxy/protocols';
import { KeysUnknownError } from '../shown-keys.ts';

/** The source of a configuration. */
export interface ConfigSource {
  /** The path of the file, which errors name; `undefined` for the built-in configuration. */
  readonly path?: string | undefined;
  /** The contents of the file, which is then not read. */
  readonly bytes?: Uint8Array | undefined;
}

/** A configuration and its subscribe file: decoded, but not yet checked further. */
export interface Documents {
  /** The configuration file's own bytes. */
  readonly bytes: Uint8Array;
  readonly source: SourceText;
  readonly file: ConfigFile;
  /** The subscribe file; `undefined` without `[subscribe]`. */
  readonly subscribe: SubscribeFile | undefined;
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
  { path, bytes: given }: ConfigSource,
  files: FileReader,
  onLogLevel?: (level: string) => void,
): Promise<Documents> {
  const bytes = given ?? (await readConfig(path, files));
  const source = await withShownKeys(() => decodeSource(bytes, path));
  const file = await withShownKeys(() => readConfigFile(source, onLogLevel));
  const subscribe = await readSubscribe(file, source, files);
  return {
    bytes,
    source,
    file,
    subscribe: subscribe?.file,
    places: subscribe ? new JoinedPlaces(source, subscribe.source) : source,
  };
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
