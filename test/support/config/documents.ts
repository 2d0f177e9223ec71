import { type ConfigFile, decodeSource, type SourceText } from '@weir/config/documents';
import { loadProtocols } from '@weir/proxy/protocols';
import { RegexCache } from '@weir/proxy/names';
import type { Spec } from '@weir/proxy/spec';
import {
  readApiTable,
  readConfigFile,
  readSubscribeFile,
} from '../../../packages/config/src/sources/read-tables.ts';
import { InputFiles } from '../../../packages/config/src/sources/input-files.ts';
import { lowerConfig } from '../../../packages/config/src/lower.ts';
import { JoinedPlaces } from '../../../packages/config/src/places.ts';
import type { SubscribeFile } from '../../../packages/config/src/sources/subscribe-file.ts';

// What is parsed here may name any protocol.
await loadProtocols();

/** The bytes of a file, and its path for the places of errors. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly file?: string | undefined;
}

export interface ConfigDocument {
  readonly source: SourceText;
  readonly file: ConfigFile;
}

export interface SubscribeDocument {
  readonly source: SourceText;
  readonly file: SubscribeFile;
}

export function openConfig({ bytes, file }: FileBytes): ConfigDocument {
  const source = decodeSource(bytes, file);
  return { source, file: readConfigFile(source) };
}

export function openSubscribe(
  { bytes, file }: FileBytes,
  config: ConfigDocument,
): SubscribeDocument {
  const source = decodeSource(bytes, file);
  return { source, file: readSubscribeFile(source, config.source) };
}

export interface ParseOptions {
  readonly file?: string | undefined;
  readonly subscribe?: FileBytes | undefined;
  readonly regexes?: RegexCache | undefined;
}

/** What a configuration means together with its subscribe file, when they name no other files. */
export function parseConfig(bytes: Uint8Array, options: ParseOptions = {}): Spec {
  const config = openConfig({ bytes, file: options.file });
  const given = options.subscribe && openSubscribe(options.subscribe, config);
  const subscribe = config.file.subscribe && given;
  return lowerConfig({
    file: config.file,
    subscribe: subscribe?.file,
    api: config.file.api && readApiTable(config.file.api, config.source),
    places: subscribe ? new JoinedPlaces(config.source, subscribe.source) : config.source,
    files: new InputFiles(),
    regexes: options.regexes ?? new RegexCache(),
  }).spec;
}
