import { ImportError } from '../../protocols/forms/draft.ts';
import { statedOf, type ForeignObject } from '../../protocols/forms/foreign-object.ts';
import type { Matchers } from '../routing.ts';
import { expressionOf, literally } from '../values/expressions.ts';
import { PRIVATE_NETWORKS, networkOf } from '../values/networks.ts';

/**
 * The conditions of a rule on its destination, which sing-box joins by "or": each kind that the rule has is an
 * alternative. Empty if it has no such condition.
 * @throws {ImportError} for a value that Weir cannot match
 */
export function destinationsOf(fields: ForeignObject): Matchers[] {
  const [suffixes, subdomains] = partition(textsOf(fields, 'domain_suffix'), (each) =>
    each.startsWith('.'),
  );
  const patterns = [
    ...textsOf(fields, 'domain_regex'),
    // With a leading dot only subdomains match.
    ...subdomains.map((each) => `${literally(each)}$`),
  ];
  const [codes, privateCodes] = partition(textsOf(fields, 'geoip'), (each) => each === 'private');
  const networks = [
    ...textsOf(fields, 'ip_cidr').map((each) => networkOf(each)),
    ...(privateCodes.length > 0 || isSet(fields, 'ip_is_private') ? PRIVATE_NETWORKS : []),
  ];
  return alternatives({
    domain_full: textsOf(fields, 'domain').map(inLowerCase),
    domain_suffix: suffixes.map(inLowerCase),
    domain_keyword: textsOf(fields, 'domain_keyword').map(inLowerCase),
    domain_regex: patterns.map((each) => expressionOf(each)),
    geosite: textsOf(fields, 'geosite'),
    cidr: [...new Set(networks)],
    geoip: codes,
  });
}

/** The condition on the client's address; empty if there is none. */
export function sourceOf(fields: ForeignObject): Matchers {
  const networks = [
    ...textsOf(fields, 'source_ip_cidr').map((each) => networkOf(each)),
    ...(isSet(fields, 'source_ip_is_private') ? PRIVATE_NETWORKS : []),
  ];
  return networks.length === 0 ? {} : { source_cidr: [...new Set(networks)] };
}

/**
 * A list of strings, or a single one.
 * @throws {ImportError} for any other value, or only empty strings, which would match nothing or everything
 */
export function textsOf(fields: ForeignObject, key: string): readonly string[] {
  return statedOf(fields.list(key)).map((value) => {
    if (typeof value === 'string' && value !== '') return value;
    throw new ImportError(`${JSON.stringify(key)} has a value that is not a text`);
  });
}

/**
 * Whether a condition without a value is set.
 * @throws {ImportError} for any value but true and false, since it must not be interpreted as either
 */
export function isSet(fields: ForeignObject, key: string): boolean {
  const [value = false] = fields.list(key);
  if (typeof value === 'boolean') return value;
  throw new ImportError(`${JSON.stringify(key)} is neither true nor false`);
}

const alternatives = (lists: Readonly<Record<string, readonly string[]>>): Matchers[] =>
  Object.entries(lists).flatMap(([key, values]) =>
    values.length === 0 ? [] : [{ [key]: values }],
  );

/** Partitions values by a predicate: first those without it, then those with it. */
function partition(
  values: readonly string[],
  has: (value: string) => boolean,
): readonly [readonly string[], readonly string[]] {
  return [values.filter((each) => !has(each)), values.filter(has)];
}

/**
 * Checks a name. @throws {ImportError} for upper-case letters: sing-box compares names in lower case, so such a name
 * never matches there
 */
function inLowerCase(text: string): string {
  if (text === text.toLowerCase()) return text;
  throw new ImportError(`${JSON.stringify(text)} has capitals, which never match in sing-box`);
}
