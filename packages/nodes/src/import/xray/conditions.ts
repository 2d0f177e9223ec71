import { type ForeignObject, ImportError, statedOf } from '@weir/proxy/protocols/forms';
import type { Matchers } from '../routing.ts';
import { expressionOf, literally } from '../values/expressions.ts';
import { networkOf } from '../values/networks.ts';

/**
 * A list of words, or one text with words separated by commas.
 * @throws {ImportError} for any other value, or only empty words
 */
export function wordsOf(fields: ForeignObject, key: string): readonly string[] {
  const list = fields.list(key);
  const [only] = list;
  const values = list.length === 1 && typeof only === 'string' ? only.split(',') : list;
  return statedOf(values).map((value) => {
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    throw new ImportError(`${JSON.stringify(key)} has a value that is not a text`);
  });
}

/** The key that a rule uses. An empty list is a condition that Xray ignores; `domains` replaces `domain` there. */
const keyOf = (fields: ForeignObject, newer: string, older: string): string =>
  fields.has(newer) ? newer : older;

/** The matchers of names, by prefix; a name without one is a keyword. */
const KINDS: ReadonlyMap<string, keyof Matchers> = new Map([
  ['domain', 'domain_suffix'],
  ['full', 'domain_full'],
  ['keyword', 'domain_keyword'],
  ['regexp', 'domain_regex'],
  ['dotless', 'domain_regex'],
  ['geosite', 'geosite'],
  ['ext', 'geosite'],
  ['ext-domain', 'geosite'],
  ['ext-site', 'geosite'],
]);

/**
 * The conditions on a name, joined by "or".
 * @throws {ImportError} for a condition that Weir lacks
 */
export function domainsOf(fields: ForeignObject): readonly Matchers[] {
  const found = new Map<string, string[]>();
  for (const each of wordsOf(fields, keyOf(fields, 'domains', 'domain'))) {
    const [key, value] = domainOf(each);
    const list = found.get(key) ?? [];
    list.push(value);
    found.set(key, list);
  }
  // The other spelling has no effect in addition to it.
  fields.list('domain');
  return [...found].map(([key, values]) => ({ [key]: values }));
}

function domainOf(text: string): readonly [string, string] {
  const colon = text.indexOf(':');
  const kind = KINDS.get(text.slice(0, Math.max(0, colon)));
  const value = kind === undefined ? text : text.slice(colon + 1);
  if (value === '' && !text.startsWith('dotless:')) {
    throw new ImportError(`${JSON.stringify(text)} is not a domain`);
  }
  if (kind === undefined) return ['domain_keyword', text];
  if (kind === 'domain_regex') {
    return [kind, expressionOf(text.startsWith('dotless:') ? dotless(value) : value)];
  }
  if (kind === 'geosite') return [kind, siteOf(text, value)];
  if (kind === 'domain_suffix' && value.startsWith('.')) {
    throw new ImportError(`${JSON.stringify(text)} has a leading dot`);
  }
  return [kind, value];
}

/** An expression for names without dots, such as those of the local network. */
function dotless(part: string): string {
  if (part.includes('.')) throw new ImportError('a dotless name has a dot');
  return `^[^.]*${part === '' ? '' : `${literally(part)}[^.]*`}$`;
}

/** The code of a list of `geosite.dat`; lists of other files are not supported. */
function siteOf(text: string, value: string): string {
  const code = text.startsWith('geosite:') ? value : ownList(text, value, 'geosite.dat');
  if (code.split('@').length > 2) {
    throw new ImportError(`${JSON.stringify(text)} has several attributes`);
  }
  return code;
}

function ownList(text: string, value: string, own: string): string {
  const colon = value.indexOf(':');
  if (value.slice(0, Math.max(0, colon)) === own) return value.slice(colon + 1);
  throw new ImportError(`${JSON.stringify(text)} is in a geo file of its own, and Weir has one`);
}

/**
 * The conditions on the destination's address, joined by "or".
 * @throws {ImportError} for a condition that Weir lacks
 */
export function addressesOf(fields: ForeignObject): readonly Matchers[] {
  const cidr: string[] = [];
  const geoip: string[] = [];
  for (const each of wordsOf(fields, 'ip')) {
    const bare = each.replaceAll('!', '');
    const marks = each.length - bare.length;
    const code = listOf(each, bare);
    if (code !== undefined) geoip.push(`${marks % 2 === 0 ? '' : '!'}${code}`);
    else if (marks > 0)
      throw new ImportError(`${JSON.stringify(each)}: Weir excludes lists, not networks`);
    else cidr.push(networkOf(each));
  }
  if (geoip.filter((each) => each.startsWith('!')).length > 1) {
    throw new ImportError('"ip" excludes several lists');
  }
  return [...(cidr.length > 0 ? [{ cidr }] : []), ...(geoip.length > 0 ? [{ geoip }] : [])];
}

/** The code of a list of `geoip.dat`; `undefined` for a network. */
function listOf(text: string, bare: string): string | undefined {
  if (bare.startsWith('geoip:')) return bare.slice('geoip:'.length);
  for (const prefix of ['ext:', 'ext-ip:']) {
    if (bare.startsWith(prefix)) return ownList(text, bare.slice(prefix.length), 'geoip.dat');
  }
  return undefined;
}

/** The condition on the client's address; empty if there is none. @throws {ImportError} for a geo list */
export function sourcesOf(fields: ForeignObject): Matchers {
  const networks = wordsOf(fields, keyOf(fields, 'sourceIP', 'source')).map((each) =>
    networkOf(each),
  );
  fields.list('source');
  return networks.length === 0 ? {} : { source_cidr: networks };
}
