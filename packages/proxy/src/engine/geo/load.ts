import { messageOf } from '@weir/base';
import { openRegularFile } from '@weir/io/files';
import type { GeoipRef, GeositeRef, RuleSpec } from '../../spec.ts';
import type { DomainList } from '../router/tables/domain-list.ts';
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
import { findEntries } from './find-entries.ts';
import { GEOIP_CODE, readGeoip, readGeosite, SITE_CODE } from './geo-lists.ts';

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
 * Opens a geo file for `read`. @throws {GeoFileError} which names the file
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
