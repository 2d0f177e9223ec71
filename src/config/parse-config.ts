import { RegexCache } from '../engine/router/regex-set.ts';
import type { Spec } from '../spec.ts';
import { readConfigFile } from './config-file.ts';
import { lowerConfig } from './lower.ts';
import { decodeSource } from './utf8.ts';

export interface ParseOptions {
  /** Named in the places of errors. */
  readonly file?: string | undefined;
  /** Compiles `domain_regex`; pass the one that is kept across reloads, where there is one. */
  readonly regexes?: RegexCache | undefined;
}

/**
 * Turns the bytes of a configuration file into what they mean. Reads nothing else.
 * @throws {ConfigError} `invalid`, and nothing else.
 */
export function parseConfig(bytes: Uint8Array, options: ParseOptions = {}): Spec {
  const source = decodeSource(bytes, options.file);
  return lowerConfig(readConfigFile(source), source, options.regexes ?? new RegexCache());
}
