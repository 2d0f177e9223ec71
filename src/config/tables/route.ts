import { RegexError, type RegexCache } from '../../engine/router/regex-set.ts';
import { WeirError } from '../../errors.ts';
import { array, located, str, type Located } from '../../schema/decoder.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';
import type { RuleSpec } from '../../spec.ts';
import { Finding, type Findings } from '../findings.ts';
import { notYet } from '../not-yet.ts';
import { lowerRule, ruleSubject, ruleTable } from './rule.ts';

/** `[route]` as written. */
export const routeTable = struct({
  default: optional(located(str)),
  geoip: optional(located(str)),
  geosite: optional(located(str)),
  rule: fallback(array(ruleTable), []),
});
export type RouteTable = Output<typeof routeTable>;

/** Every outbound tag that a route names, with the part of the route that names it. */
export function routeReferences(
  route: RouteTable | undefined,
): readonly { readonly tag: Located<string>; readonly subject: string }[] {
  const rules = route?.rule ?? [];
  return [
    ...(route?.default ? [{ tag: route.default, subject: 'route' }] : []),
    ...rules.map(({ outbound }, index) => ({ tag: outbound, subject: ruleSubject(index) })),
  ];
}

/** Lowers the rules in file order; those that something is wrong with are missing. */
export function lowerRules(
  route: RouteTable | undefined,
  regexes: RegexCache,
  findings: Findings,
): RuleSpec[] {
  if (!route) return [];
  const part = findings.about('route');
  for (const [key, path] of Object.entries({ geoip: route.geoip, geosite: route.geosite })) {
    if (path) part.add(notYet(`[route].${key}`, path.span));
  }
  checkPatterns(route, regexes, findings);
  return route.rule
    .map((rule, index) => lowerRule(rule, index, findings))
    .filter((rule) => rule !== undefined);
}

/** Compiles the patterns of all rules together: one by one it would cost time and memory. */
function checkPatterns({ rule: rules }: RouteTable, regexes: RegexCache, findings: Findings): void {
  const patterns = rules.flatMap(({ domainRegex }, index) =>
    domainRegex.map(({ value, span }) => ({ value, span, subject: ruleSubject(index) })),
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
      ? `invalid domain regex ${wrong.value}: ${error.message}`
      : `invalid domain regex: ${error.message}`;
    const finding = new Finding(message, wrong?.span, { cause: error });
    findings.about(wrong?.subject ?? 'route').add(finding);
  }
}
