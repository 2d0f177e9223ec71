import { hash } from 'node:crypto';
import type { AccountNames } from '@weir/config/load';
import type { GeoData } from '@weir/proxy/geo';
import { buildRouterTables, type RouterTables } from '@weir/proxy/router';
import type { RouteGroupSpec, RouteSpec, Spec } from '@weir/proxy/spec';
import { inboundFacts, type InboundFacts } from './inbound-listener.ts';

/**
 * A configuration in the form that the supervisor compares and builds: plain data, which a worker thread can
 * prepare and transfer. Its rules and geo data are no longer needed: `tables` was built from them.
 */
export interface DesiredState {
  readonly spec: Omit<Spec, 'route'>;
  readonly tables: RouterTables;
  /** Route groups in the order in which they are matched; none without a subscribe file. */
  readonly groups: readonly RouteGroupSpec[];
  readonly digests: SpecDigests;
  /** Names of accounts that the Spec does not name; no resource depends on them. None by default. */
  readonly accountNames?: AccountNames;
}

/**
 * Digests of those parts of a Spec that may be megabytes long. Two parts are equal if their digests
 * are, so that a reload compares any number of users and rules without delaying traffic.
 */
interface SpecDigests {
  /** Digests by position in `spec.outbounds`. */
  readonly outbounds: readonly string[];
  /** Digests by position in `spec.inbounds`. */
  readonly inbounds: readonly InboundDigests[];
  /** Digest of the whole `[route]`, including rules and the digests of geo files. */
  readonly route: string;
  /** Digest of the `[route]` without targets: while it is unchanged, a rule index means the same rule and group. */
  readonly matchers: string;
}

export interface InboundDigests {
  readonly whole: string;
  /** Digest of the users; `undefined` for an inbound without users. */
  readonly users: string | undefined;
}

/** Digests a configuration and compiles its rules. Takes a second for 100,000 rules. */
export function toDesiredState(
  { route, ...spec }: Spec,
  geo: GeoData,
  { usersOf }: Pick<InboundFacts, 'usersOf'> = inboundFacts(),
): DesiredState {
  const matchers = digestOf(matchersOf(route));
  return {
    spec,
    tables: buildRouterTables(route, geo),
    groups: route.groups ?? [],
    digests: {
      outbounds: spec.outbounds.map(digestOf),
      inbounds: spec.inbounds.map((inbound) => {
        const users = usersOf(inbound);
        return { whole: digestOf(inbound), users: users && digestOf(users) };
      }),
      route: digestOf({ matchers, targets: targetsOf(route) }),
      matchers,
    },
  };
}

const matchersOf = ({ rules, groups = [], geoip, geosite }: RouteSpec): unknown => ({
  rules: rules.map((rule) => ({ ...rule, outbound: undefined })),
  groups: groups.map((group) => ({ ...group, outbound: undefined })),
  geoip,
  geosite,
});

const targetsOf = ({ default: standard, rules, groups = [] }: RouteSpec): unknown => ({
  default: standard,
  rules: rules.map(({ outbound }) => outbound),
  groups: groups.map(({ outbound }) => outbound),
});

/** Computes SHA-256 of the JSON text: a Spec consists of strings, finite numbers, booleans, lists and tables. */
const digestOf = (part: unknown): string => hash('sha256', JSON.stringify(part));
