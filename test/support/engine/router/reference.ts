import { domainToASCII, domainToUnicode } from 'node:url';
import { isIP } from 'node:net';
import { parseIP, unmapIPv4 } from '@weir/io/addresses';
import type {
  RouteDecision,
  RouteQuery,
} from '../../../../packages/proxy/src/engine/router/query.ts';
import type { CidrSpec, RoutingSpec, RuleSpec } from '@weir/proxy/spec';

/** Geo lists as a person would write them down. */
export interface PlainGeo {
  readonly geosite: Readonly<Record<string, Partial<RuleSpec>>>;
  readonly geoip: Readonly<Record<string, readonly CidrSpec[]>>;
}

/**
 * The meaning of rules, written as directly as can be: every rule in order, every matcher in turn.
 * `name` stands for what a sniffed name would do: with `any`, domain matchers match.
 */
export function referenceRoute(
  spec: RoutingSpec,
  query: RouteQuery,
  geo: PlainGeo = { geosite: {}, geoip: {} },
): RouteDecision {
  const rule = spec.rules.findIndex((candidate) => matches(candidate, query, geo));
  return rule < 0
    ? { outbound: spec.default, rule: undefined }
    : { outbound: spec.rules[rule]?.outbound ?? '', rule };
}

/** Three-valued: does a rule that only lacks a name come before the one that decides? */
export function referenceNeedsDomain(spec: RoutingSpec, query: RouteQuery, geo: PlainGeo): boolean {
  if (isIP(query.host) === 0 || query.sniffed !== undefined) return false;
  for (const rule of spec.rules) {
    if (matches(rule, query, geo)) return false;
    if (matches(withoutDomains(rule), query, geo) && canMatchAName(rule, geo)) return true;
  }
  return false;
}

const withoutDomains = (rule: RuleSpec): RuleSpec => ({
  ...rule,
  domainFull: [],
  domainSuffix: [],
  domainKeyword: [],
  domainRegex: [],
  geosite: [],
});

function canMatchAName(rule: RuleSpec, geo: PlainGeo): boolean {
  const usable = (names: readonly string[]): boolean => names.some((name) => !/^\.|^$/.test(name));
  return (
    (rule.domainFull.length === 0 || usable(rule.domainFull)) &&
    (rule.domainSuffix.length === 0 || usable(rule.domainSuffix)) &&
    (!rule.geosite?.length ||
      rule.geosite.some(({ code, attribute }) => {
        const list = geo.geosite[attribute === undefined ? code : `${code}@${attribute}`];
        return (
          usable([...(list?.domainFull ?? []), ...(list?.domainSuffix ?? [])]) ||
          (list?.domainKeyword ?? []).length > 0 ||
          (list?.domainRegex ?? []).length > 0
        );
      }))
  );
}

function matches(rule: RuleSpec, query: RouteQuery, geo: PlainGeo): boolean {
  const ip = isIP(query.host) === 0 ? undefined : query.host;
  const written = (ip === undefined ? query.host : query.sniffed)?.toLowerCase();
  const name = written && plainName(written);
  const every = <T>(entries: readonly T[] | undefined, test: (entry: T) => boolean): boolean =>
    entries === undefined || entries.length === 0 || entries.some(test);
  const domain = <T>(
    entries: readonly T[] | undefined,
    test: (entry: T, name: string) => boolean,
  ) => every(entries, (entry) => name !== undefined && test(entry, name));
  return (
    domain(rule.domainFull, isFull) &&
    domain(rule.domainSuffix, isSuffix) &&
    domain(rule.domainKeyword, isKeyword) &&
    domain(rule.domainRegex, isRegex) &&
    domain(rule.geosite, ({ code, attribute }, name) => {
      const list = geo.geosite[attribute === undefined ? code : `${code}@${attribute}`];
      return (
        list?.domainFull?.some((entry) => isFull(entry, name)) ||
        list?.domainSuffix?.some((entry) => isSuffix(entry, name)) ||
        list?.domainKeyword?.some((entry) => isKeyword(entry, name)) ||
        list?.domainRegex?.some((entry) => isRegex(entry, name)) ||
        false
      );
    }) &&
    every(rule.cidr, (cidr) => ip !== undefined && isInside(ip, cidr)) &&
    every(rule.geoip, ({ code, negate }) => {
      if (ip === undefined) return false;
      return (geo.geoip[code] ?? []).some((cidr) => isInside(ip, cidr)) !== negate;
    }) &&
    every(rule.sourceCidr, (cidr) => query.source !== undefined && isInside(query.source, cidr)) &&
    every(rule.port, ({ low, high }) => query.port >= low && query.port <= high) &&
    (rule.network === undefined || rule.network === query.network) &&
    every(rule.inboundTag, (tag) => tag === query.inbound)
  );
}

/** The name as it is looked up: without its final dot, and in ASCII when that is possible. */
function plainName(written: string): string {
  const bare = written.replace(/\.$/, '');
  const ascii = domainToASCII(bare);
  return /[^\0-\x7f]/.test(bare) && /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(ascii) ? ascii : bare;
}

/** A name, and how it looks with its letters of other scripts. */
const looks = (name: string): readonly string[] =>
  name.includes('xn--') ? [name, domainToUnicode(name)] : [name];

const isFull = (entry: string, name: string): boolean => name !== '' && plainName(entry) === name;
const isSuffix = (written: string, name: string): boolean => {
  const entry = plainName(written);
  return entry !== '' && !entry.startsWith('.') && (name === entry || name.endsWith(`.${entry}`));
};
const isKeyword = (entry: string, name: string): boolean =>
  looks(name).some((look) => look.includes(entry));
// The tests use patterns that mean the same in both dialects.
const isRegex = (entry: string, name: string): boolean =>
  looks(name).some((look) => new RegExp(entry, 'u').test(look));

function isInside(ip: string, { address, prefix }: CidrSpec): boolean {
  const value = bitsOf(unmapIPv4(ip));
  const network = bitsOf(address);
  return value.length === network.length && value.startsWith(network.slice(0, prefix));
}

const bitsOf = (ip: string): string =>
  Array.from(parseIP(ip) ?? [], (byte) => byte.toString(2).padStart(8, '0')).join('');
