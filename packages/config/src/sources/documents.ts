import type { ConfigFile } from './config-file.ts';
import { decodeSource } from './decode-source.ts';
import { DEFAULT_CONFIG } from './default-config.ts';
import { DocumentReadError } from '../errors.ts';
import { FileReadError, type FileReader } from './input-files.ts';
import { JoinedPlaces, type Places } from '../places.ts';
import { readConfigFile, readSubscribeFile } from './read-tables.ts';
import type { SourceText } from './source-text.ts';
import type { SubscribeFile } from './subscribe-file.ts';
import { printable } from '@weir/base/printable';
import { subscribePath } from '../tables/subscribe.ts';
import { withShownKeys } from './with-shown-keys.ts';

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
