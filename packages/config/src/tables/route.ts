import { printable } from '@weir/base/printable';
import { type RegexCache, RegexError } from '@weir/proxy/names';
import type { GeoKind } from '@weir/proxy/geo';
import { WeirError } from '@weir/base';
import {
  array,
  type Decoded,
  disclosed,
  fallback,
  type Located,
  located,
  optional,
  str,
  struct,
} from '@weir/proxy/schema';
import type { GeoFileSpec, RuleSpec } from '@weir/proxy/spec';
import { Finding, type Findings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';
import { listEntries, lowerRule, ruleSubject, ruleTable } from './rule.ts';

/** The table `[route]` as written. */
export const routeTable = struct(
  {
    default: optional(located(disclosed(str))),
    geoip: optional(located(disclosed(str))),
    geosite: optional(located(disclosed(str))),
    rule: fallback(array(ruleTable), []),
  },
  {
    default: 'Outbound or balancer for what no rule matches; the first outbound when left out',
    geoip: 'A geoip.dat',
    geosite: 'A geosite.dat',
    rule: 'Tried from the top until one matches',
  },
);
type RouteTable = Decoded<typeof routeTable>;

/** An outbound tag that a route names, with the part of the route that names it. */
export interface Reference {
  readonly tag: Located<string>;
  readonly subject: string;
}

/** Returns every outbound tag that a route names. */
export function routeReferences(route: RouteTable | undefined): readonly Reference[] {
  const rules = route?.rule ?? [];
  return [
    ...(route?.default ? [{ tag: route.default, subject: 'route' }] : []),
    ...rules.map(({ outbound }, index) => ({ tag: outbound, subject: ruleSubject(index) })),
  ];
}

/** Lowers the rules in file order; invalid ones are omitted. */
export function lowerRules(
  route: RouteTable | undefined,
  regexes: RegexCache,
  findings: Findings,
): RuleSpec[] {
  if (!route) return [];
  checkPatterns(route, regexes, findings);
  return route.rule
    .map((rule, index) => lowerRule(rule, index, findings))
    .filter((rule) => rule !== undefined);
}

/** Returns the file from which rules take lists; `undefined` if no rule does, or on an error. */
export function lowerGeoFile(
  route: RouteTable | undefined,
  kind: GeoKind,
  files: InputFiles,
  findings: Findings,
): GeoFileSpec | undefined {
  if (!route) return undefined;
  const path = route[kind];
  const users = route.rule.flatMap((rule, index) =>
    listEntries(rule[kind])
      .slice(0, 1)
      .map(({ span }) => ({ span, index })),
  );
  if (users.length === 0) return undefined;
  if (!path) {
    const message = `a ${kind} matcher is used but no ${kind} file is configured`;
    for (const { span, index } of users)
      findings.about(ruleSubject(index)).add(new Finding(message, span, { hint: geoHint(kind) }));
    return undefined;
  }
  const sha256 = findings
    .about('route')
    .attempt(() => withGeoHint(kind, () => files.sha256(path, `cannot read ${kind} file`)));
  return sha256 === undefined ? undefined : { path: files.located(path.value), sha256 };
}

const geoHint = (kind: GeoKind): string =>
  `[route].${kind} names a ${kind}.dat, which comes with Xray and v2ray, and from the projects v2fly/${kind === 'geoip' ? 'geoip' : 'domain-list-community (as dlc.dat)'} and Loyalsoldier/v2ray-rules-dat`;

/** Adds a hint with the source of the file, which may never have been downloaded. */
function withGeoHint<T>(kind: GeoKind, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    const { message, span, kind: of } = error;
    throw new Finding(message, span, { kind: of, cause: error, hint: geoHint(kind) });
  }
}

/**
 * Compiles the patterns of all rules together, which costs less time and memory than compiling them one by one.
 */
function checkPatterns({ rule: rules }: RouteTable, regexes: RegexCache, findings: Findings): void {
  const patterns = rules.flatMap(({ domainRegex }, index) =>
    listEntries(domainRegex).map(({ value, span }) => ({
      value,
      span,
      subject: ruleSubject(index),
    })),
  );
  try {
    regexes.compile([...new Set(patterns.map(({ value }) => value))]);
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    const wrong =
      error instanceof RegexError
        ? patterns.find(({ value }) => value === error.pattern)
        : undefined;
    const message = wrong
      ? `invalid domain regex ${printable(wrong.value)}: ${error.message}`
      : `invalid domain regex: ${error.message}`;
    const finding = new Finding(message, wrong?.span, { cause: error, severalLines: true });
    findings.about(wrong?.subject ?? 'route').add(finding);
  }
}
