import type { Node } from '../../schema/node.ts';
import { DecodeError } from '../../schema/errors.ts';
import { apiTable, type ApiTable } from '../api.ts';
import { baseAfter, shiftNode, shiftSpan } from '../places.ts';
import { readLogLevel } from '../tables/log.ts';
import { TomlError } from '../toml/tree.ts';
import { parseToml } from '../toml/parse.ts';
import { configFile, type ConfigFile } from './config-file.ts';
import { documentError } from './document-error.ts';
import { foreignFormat, type ForeignFormat } from './foreign-format.ts';
import { syntaxHint } from './syntax-hint.ts';
import type { SourceText } from './source-text.ts';
import { subscribeFile, type SubscribeFile } from './subscribe-file.ts';

/**
 * Reads the shape of a configuration file.
 *
 * @param onLogLevel called with `[log].level` even if the rest of the file is invalid, because the
 *   level decides whether that error is shown. Not called when `[log]` itself cannot be read.
 * @throws {ConfigError} for the first place that is not TOML, or not of the right shape.
 */
export function readConfigFile(
  source: SourceText,
  onLogLevel?: (level: string) => void,
): ConfigFile {
  const read = (): ConfigFile => {
    const document = parseToml(source.text);
    const level = readLogLevel(document);
    if (level !== undefined) onLogLevel?.(level);
    return configFile(document);
  };
  return withPlaces(source, read, { format: foreignFormat });
}

/**
 * Reads the shape of a subscribe file. Its places follow those of the configuration file `after`: see
 * `JoinedPlaces`.
 *
 * @throws {ConfigError} for the first place that is not TOML, or not of the right shape.
 */
export function readSubscribeFile(source: SourceText, after: SourceText): SubscribeFile {
  const base = baseAfter(after);
  const read = (): SubscribeFile => subscribeFile(shiftNode(parseToml(source.text), base));
  return withPlaces(source, read, { base });
}

/**
 * Reads the shape of `[api]`, which a program that does not serve the API ignores.
 * @throws {ConfigError} in the form of a TOML error.
 */
export const readApiTable = (node: Node, source: SourceText): ApiTable =>
  withPlaces(source, () => apiTable(node), {});

interface ReadOptions {
  /** Offset of the first character in the spans of decoded nodes; 0 by default. */
  readonly base?: number;
  /** Recognises the format of a text that is not TOML. */
  readonly format?: (text: string) => ForeignFormat | undefined;
}

/** Runs `read`, whose errors then name their line and column. */
function withPlaces<T>(source: SourceText, read: () => T, { base = 0, format }: ReadOptions): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TomlError) {
      const foreign = format?.(source.text);
      const hint = foreign === undefined ? syntaxHint(source.text, error) : undefined;
      const options = { cause: error, format: foreign, hint };
      throw documentError(source, error.message, error.span, options);
    }
    if (!(error instanceof DecodeError)) throw error;
    throw documentError(source, error.message, shiftSpan(error.span, -base), { cause: error });
  }
}
