import { DecodeError, type Node, type Span, type TableNode } from '@weir/proxy/schema';
import { apiTable, type ApiTable } from '../api.ts';
import { baseAfter, shiftNode, shiftSpan, type SourceText } from './source-text.ts';
import { documentError } from './decode-source.ts';
import { readLogLevel } from '../tables/log.ts';
import { TomlError } from '../toml/tree.ts';
import { parseToml } from '../toml/parse.ts';
import type { LimitsSpec } from '@weir/proxy/limits';
import { limitsFile, lowerLimits } from '../limits/limits-file.ts';
import { configFile, type ConfigFile, subscribeFile, type SubscribeFile } from './config-file.ts';
import { objectError } from './object-document.ts';
import { foreignFormat, type ForeignFormat } from './foreign-format.ts';

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
 * Reads the shape of a configuration that is an object.
 *
 * @param onLogLevel as in `readConfigFile`
 * @throws {ConfigError} for the first value that is not of the right shape.
 */
export function readConfigObject(
  root: TableNode,
  source: SourceText,
  onLogLevel?: (level: string) => void,
): ConfigFile {
  const level = readLogLevel(root);
  if (level !== undefined) onLogLevel?.(level);
  try {
    return configFile(root);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw objectError(source.locate(error.span.start), error.message, { cause: error });
  }
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

/**
 * Reads a limits file.
 * @throws {ConfigError} in the form of a TOML error, for the first place that is not TOML, or not of the right shape.
 */
export const readLimitsFile = (source: SourceText): LimitsSpec =>
  withPlaces(source, () => lowerLimits(limitsFile(parseToml(source.text))), {});

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

const PROSE_QUOTE = /[“”„‟«»‹›‘’‚`´]/;
const TRUTH = /^(?:true|false|yes|no|on|off)\b/i;
/** A key, the text between it and its value, and the value. */
const PAIR = /^[\w."'-]+\s*([:=]?)(.*)/s;

/**
 * Returns a hint for the most common syntax errors, from the line of the error; no hint quotes its text, which may
 * be a secret.
 * @param error of the parser, with the place at which it failed
 */
function syntaxHint(
  text: string,
  { message, span: { start } }: { readonly message: string; readonly span: Span },
): string | undefined {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const newline = text.indexOf('\n', start);
  const line = text.slice(lineStart, newline < 0 ? text.length : newline).trim();
  if (line.startsWith('> ')) {
    return 'npm has written this line: `npm -s start -- …` leaves it out';
  }
  if (PROSE_QUOTE.test(line)) {
    return 'these are quotes of prose (“ ” ‘ ’), as an editor or a web page makes them: TOML has " and \'';
  }
  if (line.startsWith('//') || line.startsWith('/*') || line.startsWith(';')) {
    return 'a comment begins with #';
  }
  if (message.includes('expected comma')) {
    return 'a comma is missing between two values, or the ] or } behind the last';
  }
  const [, sign, rest = ''] = PAIR.exec(line) ?? [];
  if (sign === ':') return 'TOML has an equals sign between key and value: key = "value"';
  const value = rest.trim();
  if (sign === '=' && value === '') return 'the value is missing';
  if (sign === '' && value !== '') return 'an equals sign is missing: key = "value"';
  if (sign === '=' && /^["']/.test(value)) return quoteHint(value);
  if (sign === '=' && TRUTH.test(value)) return 'write true or false, in small letters';
  if (sign === '=' && /^[a-z]/i.test(value)) return 'a text has quotes around it: key = "value"';
  return undefined;
}

/**
 * Returns the hint for a value with wrong quotes.
 * @param value begins with a quote
 */
function quoteHint(value: string): string | undefined {
  const quote = value.charAt(0);
  if (!value.includes(quote, 1)) return `the closing ${quote} is missing`;
  if (quote === '"' && value.includes('\\')) {
    return 'a backslash in double quotes is written twice, or the text in single quotes';
  }
  return /[,;]$/.test(value) ? 'nothing follows a value, not even a comma' : undefined;
}
