import type { OutboundVersion } from './outbound-version.ts';
import type { RouteDecision, RouteQuery } from './router/query.ts';

/** What a route may name: an outbound, or a group that picks one for each new flow. */
export interface Exit {
  /** The outbound that the next flow takes. */
  pick(): OutboundVersion;
}

/** The part of the router that dispatching needs. */
export interface Routes {
  route(query: RouteQuery): RouteDecision;
  /** Whether a domain name learned from the first bytes could change the decision. */
  needsDomain(query: RouteQuery): boolean;
}

/**
 * Everything that decides where new flows go, at one moment. Immutable: a reload makes a new plane
 * and swaps one pointer, and flows keep the outbound version that they were opened on.
 */
export interface Plane {
  readonly epoch: number;
  readonly routes: Routes;
  /** By tag of an outbound or balancer; holds every tag that `routes` can decide on. */
  readonly exits: ReadonlyMap<string, Exit>;
}

/** A decision, resolved to the outbound that carries it out. */
export interface Resolved {
  readonly version: OutboundVersion;
  readonly rule: number | undefined;
  readonly epoch: number;
}

/** Routes one request on a plane. */
export function resolveRoute(plane: Plane, query: RouteQuery): Resolved {
  const decision = plane.routes.route(query);
  const exit = plane.exits.get(decision.outbound);
  // Lowering refuses unknown references, so a miss is a defect of ours, not of the configuration.
  if (!exit) throw new RangeError(`the plane has no exit named ${decision.outbound}`);
  return { version: exit.pick(), rule: decision.rule, epoch: plane.epoch };
}
