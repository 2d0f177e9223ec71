import { isIPv4Endpoint, type IpEndpoint } from '@weir/base/ip';
import { MOST_RULES } from './limits.ts';
import { networkKey, type RouteLookup, type KernelRoutes } from './kernel-routes.ts';

export const RT_TABLE_DEFAULT = 253;
export const RT_TABLE_MAIN = 254;
export const RT_TABLE_LOCAL = 255;

/** A rule of policy routing (ip-rule(8)), reduced to the conditions that concern packets of this process. */
export interface RoutingRule {
  readonly family: 4 | 6;
  readonly priority: number;
  readonly action:
    | { readonly kind: 'table'; readonly table: number; readonly leastPrefix: number }
    | { readonly kind: 'goto'; readonly priority: number }
    | { readonly kind: 'refuse' }
    | { readonly kind: 'nothing' };
  /** The destinations that the rule matches; `undefined` for all. */
  readonly to: { readonly network: IpEndpoint; readonly prefix: number } | undefined;
  /** Whether the rule matches packets without a mark. */
  readonly fitsUnmarked: boolean;
  /** Whether the rule matches all packets except those that it describes. */
  readonly isInverted: boolean;
}

/** The implicit rules of a kernel without policy routing. */
const BUILT_IN: readonly RoutingRule[] = [RT_TABLE_LOCAL, RT_TABLE_MAIN, RT_TABLE_DEFAULT].flatMap(
  (table, priority) =>
    ([4, 6] as const).map((family): RoutingRule => ({
      family,
      priority,
      action: { kind: 'table', table, leastPrefix: 0 },
      to: undefined,
      fitsUnmarked: true,
      isInverted: false,
    })),
);

/** Determines the tables, and their order, in which a route is looked up. */
export class RoutingRules {
  #rules: readonly RoutingRule[] = BUILT_IN;
  #listed: RoutingRule[] | undefined;

  /** Starts a dump of all rules, which replaces the previous rules in `endList`. */
  beginList(): void {
    this.#listed = [];
  }

  add(rule: RoutingRule): void {
    if (this.#listed && this.#listed.length < 2 * MOST_RULES) this.#listed.push(rule);
  }

  endList(): void {
    const listed = this.#listed ?? [];
    this.#listed = undefined;
    const families = new Set(listed.map(({ family }) => family));
    this.#rules = [...listed, ...BUILT_IN.filter(({ family }) => !families.has(family))].sort(
      (one, other) => one.priority - other.priority,
    );
  }

  /**
   * Returns the route to a destination through an interface that may be used, for packets of this process.
   */
  find(
    table: KernelRoutes,
    destination: IpEndpoint,
    mayUse: (device: number) => boolean,
  ): RouteLookup {
    const family = isIPv4Endpoint(destination) ? 4 : 6;
    let from = 0;
    for (const rule of this.#rules) {
      if (rule.family !== family || rule.priority < from || !isFor(rule, destination)) continue;
      const { action } = rule;
      switch (action.kind) {
        case 'table': {
          const found = table.find(action.table, destination, mayUse, action.leastPrefix);
          if (found.kind !== 'none') return found;
          break;
        }
        case 'goto':
          from = action.priority;
          break;
        case 'refuse':
          return { kind: 'refused' };
        case 'nothing':
          break;
        default:
          action satisfies never;
      }
    }
    return { kind: 'none' };
  }
}

function isFor(
  { to, family, fitsUnmarked, isInverted }: RoutingRule,
  address: IpEndpoint,
): boolean {
  const isDestination =
    to === undefined ||
    networkKey(address, to.prefix, family === 4) ===
      networkKey(to.network, to.prefix, family === 4);
  return (isDestination && fitsUnmarked) !== isInverted;
}
