import { messageOf } from '@weir/base';
import { openRegularFile } from '@weir/io/files';
import { addressInNetwork, formatIP } from '@weir/base/ip';
import type { GeoipRef, GeositeRef, RuleSpec } from '../../spec.ts';
import { type DomainList, normalizeName } from '../router/tables/domain-list.ts';
import {
  type ByteSource,
  fileSource,
  GeoCodeError,
  type GeoData,
  GeoFileError,
  type GeoipList,
  type GeoKind,
  geositeKey,
} from './geo-data.ts';
import { findEntries, walkEntries } from './find-entries.ts';
import {
  FULL,
  GEOIP_CIDR,
  GEOIP_CODE,
  GEOIP_INVERSE,
  type GeositeDomain,
  PLAIN,
  readDomain,
  readGeoip,
  readGeosite,
  readNetwork,
  REGEX,
  ROOT_DOMAIN,
  SITE_CODE,
  SITE_DOMAIN,
} from './geo-lists.ts';
import { RegexCache } from '../router/tables/regex-set.ts';
import { WireReader } from './wire-reader.ts';

/** Paths of the geo files; relative ones are relative to the working directory. */
export interface GeoFiles {
  readonly geoip: string | undefined;
  readonly geosite: string | undefined;
}

/**
 * Reads the lists that rules name. A file that no rule needs is not opened.
 *
 * @throws {GeoFileError} when a file is missing, unreadable or invalid; the message names it
 * @throws {GeoCodeError} `geosite code not found: <code>` for the first unknown code
 */
export async function loadGeoData(files: GeoFiles, rules: readonly RuleSpec[]): Promise<GeoData> {
  const sites = rules.flatMap((rule) => rule.geosite);
  const networks = rules.flatMap((rule) => rule.geoip);
  return {
    geoip:
      networks.length === 0
        ? new Map()
        : await withGeoFile('geoip', files.geoip, (source) => geoipLists(source, networks)),
    geosite:
      sites.length === 0
        ? new Map()
        : await withGeoFile('geosite', files.geosite, (source) => geositeLists(source, sites)),
  };
}

/** Reads the lists of a geosite file that these references name, by `geositeKey`. */
export async function geositeLists(
  source: ByteSource,
  refs: readonly GeositeRef[],
): Promise<Map<string, DomainList>> {
  const attributes = new Map<string, (string | undefined)[]>();
  for (const { code, attribute } of refs) {
    const wanted = attributes.get(code.toLowerCase()) ?? [];
    attributes.set(code.toLowerCase(), [...wanted, attribute?.toLowerCase()]);
  }
  const messages = await findEntries(source, new Set(attributes.keys()), SITE_CODE);
  requireCodes('geosite', refs, messages);
  const lists = new Map<string, DomainList>();
  for (const [code, message] of messages) {
    for (const [attribute, list] of readGeosite(message, attributes.get(code) ?? [])) {
      lists.set(geositeKey({ code, attribute }), list);
    }
  }
  return lists;
}

/** Reads the lists of a geoip file that these references name, by code in lower case. */
async function geoipLists(
  source: ByteSource,
  refs: readonly GeoipRef[],
): Promise<Map<string, GeoipList>> {
  const codes = new Set(refs.map(({ code }) => code.toLowerCase()));
  const messages = await findEntries(source, codes, GEOIP_CODE);
  requireCodes('geoip', refs, messages);
  return new Map(Array.from(messages, ([code, message]) => [code, readGeoip(message)]));
}

function requireCodes(
  kind: GeoKind,
  refs: readonly { readonly code: string }[],
  found: ReadonlyMap<string, unknown>,
): void {
  const missing = refs.find(({ code }) => !found.has(code.toLowerCase()));
  if (missing) throw new GeoCodeError(kind, missing.code);
}

/**
 * Opens a geo file for `read`.
 *
 * @throws {GeoFileError} which names the file
 */
export async function withGeoFile<T>(
  kind: GeoKind,
  path: string | undefined,
  read: (source: ByteSource) => Promise<T>,
): Promise<T> {
  if (path === undefined) {
    throw new GeoFileError(`a ${kind} matcher is used but no ${kind} file is configured`);
  }
  try {
    await using file = await openRegularFile(path);
    return await read(fileSource(file, (await file.stat()).size));
  } catch (error) {
    if (error instanceof GeoCodeError) throw error;
    const what = error instanceof GeoFileError ? `not a ${kind} file: ` : '';
    throw new GeoFileError(`${path}: ${what}${messageOf(error)}`, { cause: error });
  }
}

/**
 * Summaries of geo files, for users; the running router loads only the lists that rules name. One list is in memory at
 * a time.
 */

/** A list of a file. */
export interface GeoListSummary {
  readonly code: string;
  /** Number of domains or networks. */
  readonly entries: number;
  /** Number of domains that carry each attribute; empty for networks. */
  readonly attributes: Readonly<Record<string, number>>;
}

/** Attributes of one list that are counted. */
const MOST_ATTRIBUTES = 256;

/**
 * Summarizes the lists of a geosite file.
 * @throws {GeoFileError} for an invalid file
 */
export async function* geositeSummaries(source: ByteSource): AsyncGenerator<GeoListSummary> {
  for await (const { code, message } of walkEntries(source, SITE_CODE)) {
    const counts = new Map<string, number>();
    let entries = 0;
    for (const { attributes } of domainsOf(await message())) {
      entries++;
      for (const name of new Set(attributes)) {
        const count = counts.get(name);
        if (count !== undefined || counts.size < MOST_ATTRIBUTES)
          counts.set(name, (count ?? 0) + 1);
      }
    }
    yield { code, entries, attributes: Object.fromEntries(counts) };
  }
}

/**
 * Summarizes the lists of a geoip file.
 * @throws {GeoFileError} for an invalid file
 */
export async function* geoipSummaries(source: ByteSource): AsyncGenerator<GeoListSummary> {
  for await (const { code, message } of walkEntries(source, GEOIP_CODE)) {
    const reader = new WireReader(await message());
    let entries = 0;
    while (reader.next()) if (reader.field === GEOIP_CIDR) entries++;
    yield { code, entries, attributes: {} };
  }
}

/** A list that contains a host. */
export interface GeoMatch {
  readonly code: string;
  /** The first entry that contains the host: `domain:example.com`, `10.0.0.0/8`; empty for an inverse list. */
  readonly entry: string;
  /** The attributes of all entries that contain the host, for `code@attribute`. */
  readonly attributes: readonly string[];
}

const KINDS: Readonly<Record<number, string>> = {
  [PLAIN]: 'keyword',
  [REGEX]: 'regexp',
  [ROOT_DOMAIN]: 'domain',
  [FULL]: 'full',
};

/**
 * Finds the lists that contain a name.
 * @throws {GeoFileError} for an invalid file
 * @throws {RegexError} for an invalid pattern in it
 */
export async function* geositeMatches(source: ByteSource, host: string): AsyncGenerator<GeoMatch> {
  const name = normalizeName(host);
  const regexes = new RegexCache();
  for await (const { code, message } of walkEntries(source, SITE_CODE)) {
    const bytes = await message();
    const patterns = new Set<string>();
    for (const { domain, text } of domainsOf(bytes)) if (domain.type === REGEX) patterns.add(text);
    const list = [...patterns];
    const set = list.length === 0 ? undefined : regexes.compile(list);
    const matching = new Set(set?.matches(name).map((index) => list[index]));
    let entry: string | undefined;
    const attributes = new Set<string>();
    for (const { domain, text, attributes: carried } of domainsOf(bytes)) {
      if (!contains(domain.type, text, name, matching)) continue;
      entry ??= `${KINDS[domain.type] ?? ''}:${text}`;
      for (const each of carried) if (attributes.size < MOST_ATTRIBUTES) attributes.add(each);
    }
    if (entry !== undefined) yield { code, entry, attributes: [...attributes] };
  }
}

function contains(
  type: number,
  text: string,
  name: string,
  matching: ReadonlySet<string | undefined>,
): boolean {
  if (type === REGEX) return matching.has(text);
  if (type === PLAIN) return name.includes(text.toLowerCase());
  const own = normalizeName(text);
  if (own === '' || own.startsWith('.')) return false;
  if (name === own) return type === FULL || type === ROOT_DOMAIN;
  return type === ROOT_DOMAIN && name.endsWith(own) && name[name.length - own.length - 1] === '.';
}

/**
 * Finds the lists that contain an address.
 * @throws {GeoFileError} for an invalid file
 */
export async function* geoipMatches(source: ByteSource, host: string): AsyncGenerator<GeoMatch> {
  for await (const { code, message } of walkEntries(source, GEOIP_CODE)) {
    const reader = new WireReader(await message());
    let isInverse = false;
    let entry: string | undefined;
    while (reader.next()) {
      if (reader.field === GEOIP_INVERSE) isInverse = reader.number() !== 0;
      if (reader.field !== GEOIP_CIDR || entry !== undefined) continue;
      const { address, prefix } = readNetwork(reader.message());
      const network = { address: formatIP(address), prefix };
      if (addressInNetwork(host, network)) entry = `${network.address}/${prefix}`;
    }
    const isIn = (entry !== undefined) !== isInverse;
    if (isIn) yield { code, entry: entry ?? '', attributes: [] };
  }
}

interface ReadDomain {
  readonly domain: GeositeDomain;
  readonly text: string;
  /** The attributes of the domain; the array is reused for the next one. */
  readonly attributes: readonly string[];
}

function* domainsOf(message: Uint8Array): Generator<ReadDomain> {
  const attributes: string[] = [];
  const site = new WireReader(message);
  while (site.next()) {
    if (site.field !== SITE_DOMAIN) continue;
    const domain = readDomain(site.message(), attributes);
    yield { domain, text: Buffer.from(domain.value).toString(), attributes };
  }
}
