import { ipVersion } from '@weir/io/addresses';
import { geositeKey } from '@weir/proxy/geo';
import { isEmptyDomainList, normalizeName } from '@weir/proxy/names';
import { type Located, suggestion } from '@weir/proxy/schema';
import { listEntries, type MatcherList, ruleSubject, type RuleTable } from '../tables/rule.ts';
import { parseGeositeRef, suffixesOf } from '../values.ts';
import { type Examined, quotedShort, type WarningList } from './warning.ts';

/** The keys of lists, as written in a file and as properties. */
const LISTS = [
  ['domain_suffix', 'domainSuffix'],
  ['domain_keyword', 'domainKeyword'],
  ['domain_full', 'domainFull'],
  ['domain_regex', 'domainRegex'],
  ['cidr', 'cidr'],
  ['source_cidr', 'sourceCidr'],
  ['port', 'port'],
  ['inbound_tag', 'inboundTag'],
  ['geosite', 'geosite'],
  ['geoip', 'geoip'],
] as const;

/** Warns of entries that match nothing, and of empty lists, in each rule by itself. */
export function warnOfRules({ merged, geo }: Examined, list: WarningList): void {
  const inbounds = new Set(merged.inbound.map(({ value }) => value.tag.value));
  merged.route?.rule.forEach((rule, index) => {
    const subject = ruleSubject(index);
    warnOfEmptyLists(rule, subject, list);
    warnOfDomains(rule, subject, list);
    for (const { value: tag, span } of listEntries(rule.inboundTag)) {
      if (inbounds.has(tag)) continue;
      list.add('unknown-inbound', span, () => {
        const meant = suggestion(tag, inbounds);
        const hint = meant === undefined ? '' : `; did you mean ${quotedShort(meant)}?`;
        return `${subject}: there is no inbound ${quotedShort(tag)}${hint}`;
      });
    }
    for (const { value, span } of listEntries(rule.geosite)) {
      const ref = parseGeositeRef(value);
      const found = ref.attribute === undefined ? undefined : geo.geosite.get(geositeKey(ref));
      if (!found || !isEmptyDomainList(found)) continue;
      list.add(
        'unmatched-entry',
        span,
        () =>
          `${subject}: geosite ${quotedShort(value)} has no entries, since none has that attribute`,
      );
    }
  });
}

function warnOfEmptyLists(rule: RuleTable, subject: string, list: WarningList): void {
  const conditions =
    LISTS.filter(([, property]) => listEntries(rule[property]).length > 0).length +
    (rule.network ? 1 : 0);
  for (const [key, property] of LISTS) {
    const matcher: MatcherList | undefined = rule[property];
    if (matcher?.value.length !== 0) continue;
    const effect = conditions === 0 ? ', and the rule matches every flow' : '';
    list.add(
      'empty-list',
      matcher.span,
      () => `${subject}: ${key} is empty, which is no condition${effect}`,
    );
  }
}

function warnOfDomains(rule: RuleTable, subject: string, list: WarningList): void {
  const warn = (key: string, { value, span }: Located<string>, why: string): void =>
    list.add('unmatched-entry', span, () => `${subject}: ${key} ${quotedShort(value)} ${why}`);
  for (const entry of listEntries(rule.domainSuffix)) {
    const why = noName(entry.value, 'a suffix stands for its subdomains as it is');
    if (why !== undefined) warn('domain_suffix', entry, why);
  }
  for (const entry of listEntries(rule.domainFull)) {
    const why = noName(entry.value, 'for subdomains use domain_suffix');
    if (why !== undefined) warn('domain_full', entry, why);
  }
  for (const entry of listEntries(rule.domainKeyword)) {
    if (entry.value === '') warn('domain_keyword', entry, 'occurs in every domain');
  }
  for (const entry of listEntries(rule.domainRegex)) {
    if (!hasUpperCase(entry.value)) continue;
    warn('domain_regex', entry, 'has capital letters: it is matched against lower-case names');
  }
  const outside = noneUnderSuffixes(rule);
  if (outside) {
    list.add(
      'rule-never-matches',
      outside.span,
      () =>
        `${subject} never matches: domain_full and domain_suffix must both match, and no name of domain_full is under a suffix; for alternatives write two rules`,
    );
  }
}

/** Returns the reason why an entry cannot be a host name; `undefined` if it can. */
function noName(text: string, wildcard: string): string | undefined {
  if (normalizeName(text) === '') return 'matches nothing: it is empty';
  if (text.startsWith('.')) return `matches nothing: write it without the dot; ${wildcard}`;
  if (text.includes('*')) return `matches nothing: there are no wildcards; ${wildcard}`;
  if (ipVersion(text) !== 0) return 'matches nothing: for an address use cidr';
  if (/[/:\s@]/.test(text)) return 'matches nothing: it is not a domain';
  return undefined;
}

/**
 * Whether a pattern has literal capital letters. Capitals do not count in escapes (`\D`, `\p{Lu}`),
 * classes (`[^A-Z]`) and group names, nor, possibly, after a flag.
 */
function hasUpperCase(pattern: string): boolean {
  let found = false;
  let brackets = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern.charAt(at);
    if (char === '\\') {
      at++;
      at = pattern.charAt(at + 1) === '{' ? endOf(pattern, '}', at) : at;
    } else if (char === '[') brackets++;
    else if (char === ']') brackets = Math.max(0, brackets - 1);
    else if (brackets > 0) continue;
    else if (char === '(' && pattern.charAt(at + 1) === '?') {
      if (!'P<:'.includes(pattern.charAt(at + 2))) return false;
      at = pattern.charAt(at + 2) === ':' ? at + 2 : endOf(pattern, '>', at);
    } else found ||= char >= 'A' && char <= 'Z';
  }
  return found;
}

function endOf(pattern: string, char: string, from: number): number {
  const end = pattern.indexOf(char, from);
  return end < 0 ? pattern.length : end;
}

/** Returns the full names of a rule, if none of them is under one of its suffixes. */
function noneUnderSuffixes({ domainFull, domainSuffix }: RuleTable): MatcherList | undefined {
  if (!domainFull?.value.length || !domainSuffix?.value.length) return undefined;
  const suffixes = new Set(domainSuffix.value.map(({ value }) => normalizeName(value)));
  const under = domainFull.value.some(({ value }) => {
    for (const suffix of suffixesOf(normalizeName(value))) if (suffixes.has(suffix)) return true;
    return false;
  });
  return under ? undefined : domainFull;
}
