import { RegexCache } from '../engine/router/regex-set.ts';
import type { Spec } from '../spec.ts';
import { readConfigFile, type ConfigFile } from './config-file.ts';
import { lowerConfig } from './lower.ts';
import { JoinedPlaces } from './places.ts';
import type { SourceText } from './source-text.ts';
import { readSubscribeFile, type SubscribeFile } from './subscribe-file.ts';
import { decodeSource } from './utf8.ts';

/** A configuration file of the right shape, which need not mean anything. */
export interface ConfigDocument {
  readonly source: SourceText;
  readonly file: ConfigFile;
}

/** A subscribe file of the right shape, read for one configuration. */
export interface SubscribeDocument {
  readonly source: SourceText;
  readonly file: SubscribeFile;
}

/** The bytes of a file, and its path for the places of errors. */
export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly file?: string | undefined;
}

export interface ParseOptions {
  /** Named in the places of errors. */
  readonly file?: string | undefined;
  /** The file that `[subscribe]` names. */
  readonly subscribe?: FileBytes | undefined;
  /** Compiles `domain_regex`; pass the one that is kept across reloads, where there is one. */
  readonly regexes?: RegexCache | undefined;
}

/** Reads the shape of a configuration file. @throws {ConfigError} `invalid`, and nothing else. */
export function openConfig({ bytes, file }: FileBytes): ConfigDocument {
  const source = decodeSource(bytes, file);
  return { source, file: readConfigFile(source) };
}

/** Reads the shape of a subscribe file. @throws {ConfigError} `invalid`, and nothing else. */
export function openSubscribe(
  { bytes, file }: FileBytes,
  config: ConfigDocument,
): SubscribeDocument {
  const source = decodeSource(bytes, file);
  return { source, file: readSubscribeFile(source, config.source) };
}

/**
 * Works out what the files mean together.
 *
 * @param subscribe of this very `config`; without `[subscribe]` in it none
 * @throws {ConfigError} `invalid`, and nothing else
 */
export function lowerDocuments(
  config: ConfigDocument,
  subscribe: SubscribeDocument | undefined,
  regexes: RegexCache,
): Spec {
  const provided = config.file.subscribe && subscribe;
  const places = provided ? new JoinedPlaces(config.source, provided.source) : config.source;
  return lowerConfig(config.file, provided?.file, places, regexes);
}

/**
 * Turns the bytes of a configuration file, and of its subscribe file, into what they mean. Reads
 * nothing else.
 *
 * @throws {ConfigError} `invalid`, and nothing else.
 */
export function parseConfig(bytes: Uint8Array, options: ParseOptions = {}): Spec {
  const config = openConfig({ bytes, file: options.file });
  const subscribe = options.subscribe && openSubscribe(options.subscribe, config);
  return lowerDocuments(config, subscribe, options.regexes ?? new RegexCache());
}
