import type { ConfigFile } from '../../../src/config/sources/config-file.ts';
import {
  readApiTable,
  readConfigFile,
  readSubscribeFile,
} from '../../../src/config/sources/read-tables.ts';
import { InputFiles } from '../../../src/config/sources/input-files.ts';
import { lowerConfig } from '../../../src/config/lower.ts';
import { JoinedPlaces } from '../../../src/config/places.ts';
import { decodeSource } from '../../../src/config/sources/decode-source.ts';
import type { SourceText } from '../../../src/config/sources/source-text.ts';
import type { SubscribeFile } from '../../../src/config/sources/subscribe-file.ts';
import { loadProtocols } from '../../../src/protocols/registry.ts';
import { RegexCache } from '../../../src/engine/router/tables/regex-set.ts';
import type { Spec } from '../../../src/spec.ts';

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
