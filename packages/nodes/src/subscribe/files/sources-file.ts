import { basicString, eolNear } from '@weir/config/text';
import { parseToml, TomlError } from '@weir/config/toml';
import {
  array,
  DecodeError,
  type Decoder,
  fallback,
  located,
  optional,
  secret,
  type Span,
  str,
  struct,
  u64,
} from '@weir/proxy/schema';
import {
  SubscribeError,
  LEAST_INTERVAL,
  MOST_INTERVAL,
  MOST_MAX_SIZE,
  MOST_SOURCES,
  MOST_TIMEOUT,
  type Source,
} from '../source.ts';
import { isSourceName } from '../../import/write/markers.ts';
import { removals, withReplacements, tableBlocks } from './table-blocks.ts';

const NEW_FILE = `# Sources of nodes, for \`weir subscribe\`. The URLs hold what you pay for: keep this file to yourself.
`;

const sourceTable = located(
  struct({
    name: str,
    url: secret,
    outbound: optional(str),
    userAgent: optional(str),
    interval: optional(u64),
    maxSize: optional(u64),
    timeout: optional(u64),
  }),
);

const sourcesFile = struct({ source: fallback(array(sourceTable), []) });

/**
 * Parses a file of sources. Its errors never quote a line, which may contain a URL.
 * @param path named in errors
 * @throws {SubscribeError}
 */
export function readSources(text: string, path: string): readonly Source[] {
  const written = decoded(sourcesFile, text, path);
  const names = new Set<string>();
  if (written.source.length > MOST_SOURCES) {
    throw new SubscribeError(`${path}: more than ${MOST_SOURCES} sources`);
  }
  return written.source.map(({ value, span }) => {
    const source: Source = {
      ...value,
      interval: toNumber(value.interval),
      maxSize: toNumber(value.maxSize),
      timeout: toNumber(value.timeout),
    };
    const problem =
      problemOfSource(source) ?? (names.has(source.name) ? 'duplicate name' : undefined);
    if (problem !== undefined) throw at(path, text, span, problem);
    names.add(source.name);
    return source;
  });
}

const toNumber = (value: bigint | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

/** Why a source is invalid, without its URL; `undefined` if it is valid. */
export function problemOfSource(source: Source): string | undefined {
  const { name, url, interval, maxSize, timeout } = source;
  if (!isSourceName(name)) {
    return `the name ${JSON.stringify(name)} is invalid: at most 64 letters, digits, ".", "_" and "-", beginning with a letter or digit`;
  }
  const parsed = URL.parse(url);
  if (!parsed) return 'the URL is invalid';
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return `the URL is one of ${parsed.protocol}, neither http: nor https:`;
  }
  return (
    outside('interval', interval, LEAST_INTERVAL, MOST_INTERVAL, 'seconds') ??
    outside('max_size', maxSize, 1024, MOST_MAX_SIZE, 'bytes') ??
    outside('timeout', timeout, 1, MOST_TIMEOUT, 'seconds')
  );
}

function outside(
  key: string,
  value: number | undefined,
  least: number,
  most: number,
  unit: string,
): string | undefined {
  if (value === undefined || (value >= least && value <= most)) return undefined;
  return `${key} is ${value}; it has to be ${least} to ${most} ${unit}`;
}

/** The text of a file with one more source at its end. */
export function withSource(text: string, source: Source): string {
  const { name, url, outbound, userAgent, interval, maxSize, timeout } = source;
  const lines = [
    '[[source]]',
    `name = ${basicString(name)}`,
    `url = ${basicString(url)}`,
    ...(outbound === undefined ? [] : [`outbound = ${basicString(outbound)}`]),
    ...(userAgent === undefined ? [] : [`user_agent = ${basicString(userAgent)}`]),
    ...(interval === undefined ? [] : [`interval = ${interval}`]),
    ...(maxSize === undefined ? [] : [`max_size = ${maxSize}`]),
    ...(timeout === undefined ? [] : [`timeout = ${timeout}`]),
  ];
  const before = text === '' ? NEW_FILE : text;
  const eol = eolNear(before, before.length);
  const lineEnd = before.endsWith('\n') ? '' : eol;
  return `${before}${lineEnd}${['', ...lines, ''].join(eol)}`;
}

/**
 * The text of a file without a source; comments between sources are kept.
 * @throws {SubscribeError} when the sources are an inline array
 */
export function withoutSource(text: string, name: string, path: string): string {
  const { blocks } = tableBlocks(text, 'source');
  const found = blocks.find(({ table }) => {
    const value = table.entries.get('name')?.value;
    return value?.kind === 'string' && value.value === name;
  });
  if (!found) throw new SubscribeError(`${path}: ${name} is not written below a [[source]] header`);
  return withReplacements(text, removals(text, [found.span]));
}

function decoded<T>(decode: Decoder<T>, text: string, path: string): T {
  try {
    return decode(parseToml(text));
  } catch (error) {
    if (error instanceof TomlError || error instanceof DecodeError) {
      throw at(path, text, error.span, error.message);
    }
    throw error;
  }
}

function at(path: string, text: string, { start }: Span, problem: string): SubscribeError {
  const line = text.slice(0, start).split('\n').length;
  return new SubscribeError(`${path}, line ${line}: ${problem}`);
}
