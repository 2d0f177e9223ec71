import type { Outbound } from '../protocols/contract.ts';
import type { RouteDecision, RouteQuery } from './router/query.ts';

/**
 * One version of an outbound. Reloads may build several versions of a tag, of which only the newest accepts new flows.
 * A retired version is closed after its last flow.
 */
export class OutboundVersion {
  readonly tag: string;
  readonly version: number;
  readonly outbound: Outbound;
  #users = 0;
  #retired = false;
  #closed = false;

  constructor(tag: string, version: number, outbound: Outbound) {
    this.tag = tag;
    this.version = version;
    this.outbound = outbound;
  }

  /** Number of flows and dials that hold the version. */
  get users(): number {
    return this.#users;
  }

  /** Whether no new flow may use the version. */
  get retired(): boolean {
    return this.#retired;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Keeps the version open until `release`. */
  hold(): void {
    this.#users++;
  }

  /** Ends one `hold`. */
  release(): void {
    this.#users--;
    this.#closeIfIdle();
  }

  /** Closes the version now, or with the last `release`; no new flow may use it. */
  retire(): void {
    this.#retired = true;
    this.#closeIfIdle();
  }

  #closeIfIdle(): void {
    if (!this.#retired || this.#users > 0 || this.#closed) return;
    this.#closed = true;
    this.outbound.close();
  }
}

/** The target of a route: an outbound, or a balancer that picks one for each new flow. */
export interface RoutingTarget {
  /** Picks the outbound for the next flow. */
  pick(): OutboundVersion;
  /** The group of the outbound; `undefined` for a single one. */
  readonly group?: TargetGroup;
}

/** Interchangeable outbounds, about which dials report. */
export interface TargetGroup {
  readonly tag: string;
  /**
   * Returns another member for a flow whose dial has not reached the servers of the members tried; `undefined` for
   * none.
   */
  next(tried: ReadonlySet<OutboundVersion>): OutboundVersion | undefined;
  /** Called when a dial has not reached the server of a member. */
  missed(version: OutboundVersion): void;
  /** Called when a dial through a member has succeeded. */
  reached(version: OutboundVersion): void;
}

/** The part of the router that dispatching needs. */
interface Routes {
  route(query: RouteQuery): RouteDecision;
  /** Whether a domain name learned from the first bytes could change the decision. */
  needsDomain(query: RouteQuery): boolean;
}

/**
 * All data that decides the routes of new flows. Immutable: a reload builds a new snapshot and swaps one pointer. Flows
 * keep the outbound version that they were opened on.
 */
export interface RoutingSnapshot {
  readonly epoch: number;
  readonly routes: Routes;
  /** Targets by tag of an outbound or balancer; contains every tag that `routes` can return. */
  readonly targets: ReadonlyMap<string, RoutingTarget>;
}

/** A routing decision with its outbound. */
export interface Resolved {
  readonly version: OutboundVersion;
  readonly rule: number | undefined;
  readonly epoch: number;
  /** The group that has picked the version. */
  readonly group?: TargetGroup | undefined;
  /** Whether the host program has chosen the outbound: neither a rule nor the default route has. */
  readonly isChosen?: boolean | undefined;
}

/** Returns the route by an outbound or balancer that the host program has chosen. */
export const chosenRoute = (target: RoutingTarget, { epoch }: RoutingSnapshot): Resolved => ({
  version: target.pick(),
  rule: undefined,
  epoch,
  group: target.group,
  isChosen: true,
});

/** Routes one request. */
export function resolveRoute(snapshot: RoutingSnapshot, query: RouteQuery): Resolved {
  const decision = snapshot.routes.route(query);
  const target = snapshot.targets.get(decision.outbound);
  // The configuration is checked for unknown references, so this would be a defect.
  if (!target)
    throw new RangeError(`the routing snapshot has no target named ${decision.outbound}`);
  return {
    version: target.pick(),
    rule: decision.rule,
    epoch: snapshot.epoch,
    group: target.group,
  };
}
