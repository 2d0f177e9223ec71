import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { RouteSpec } from '../spec.ts';

/** What tells two routes apart whose rules are not at hand. Does not depend on where they are held. */
export const routeDigest = ({ elsewhere, ...route }: RouteSpec): string =>
  elsewhere?.sha256 ?? hash('sha256', JSON.stringify(route));

/** Tags of the outbounds and balancers that a route can decide on. */
export function exitsNamedBy(route: RouteSpec): Set<string> {
  const named = route.elsewhere?.exits ?? route.rules.map(({ outbound }) => outbound);
  return new Set([...named, route.default]);
}

export const isSameRoute = (a: RouteSpec, b: RouteSpec): boolean =>
  a.elsewhere || b.elsewhere ? routeDigest(a) === routeDigest(b) : isDeepStrictEqual(a, b);
