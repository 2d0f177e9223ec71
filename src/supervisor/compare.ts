import { isDeepStrictEqual } from 'node:util';
import type { Turns } from '../net/time/turns.ts';
import type { InboundSpec, Spec, RouteSpec } from '../spec.ts';
import { hash } from 'node:crypto';

/** Lists of more items are compared item by item. */
const SHORT = 64;

/**
 * Whether two values of plain data are equal, as `isDeepStrictEqual` does, but yielding to traffic
 * within long lists.
 */
export async function isSame(a: unknown, b: unknown, turns: Turns): Promise<boolean> {
  if (Array.isArray(a) && Array.isArray(b) && a.length > SHORT) {
    if (a.length !== b.length) return false;
    for (const [index, item] of a.entries()) {
      if (!isDeepStrictEqual(item, b[index])) return false;
      if (turns.due) await turns.next();
    }
    return true;
  }
  if (!isPlain(a) || !isPlain(b)) return isDeepStrictEqual(a, b);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !(await isSame(a[key], b[key], turns))) return false;
  }
  return true;
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Compares two values synchronously. */
export type Same = (a: unknown, b: unknown) => boolean;

/**
 * Compares in advance the parts of two configurations that may be long. The returned function knows
 * those results, and compares any other two values when it is called.
 */
export async function compareSpecs(
  old: Spec | undefined,
  wanted: Spec,
  usersOf: (inbound: InboundSpec) => unknown,
  turns: Turns,
): Promise<Same> {
  const known = new Map<unknown, { readonly before: unknown; readonly same: boolean }>();
  const learn = async (before: unknown, after: unknown): Promise<void> => {
    known.set(after, { before, same: await isSame(before, after, turns) });
  };
  const oldOutbounds = new Map(old?.outbounds.map((outbound) => [outbound.tag, outbound]));
  for (const outbound of wanted.outbounds) {
    const before = oldOutbounds.get(outbound.tag);
    if (before) await learn(before, outbound);
    if (turns.due) await turns.next();
  }
  const oldInbounds = new Map(old?.inbounds.map((inbound) => [inbound.tag, inbound]));
  for (const inbound of wanted.inbounds) {
    const before = oldInbounds.get(inbound.tag);
    if (!before) continue;
    await learn(before, inbound);
    await learn(usersOf(before), usersOf(inbound));
    if (turns.due) await turns.next();
  }
  return (a, b) => {
    const found = known.get(b);
    return found && found.before === a ? found.same : isDeepStrictEqual(a, b);
  };
}

/** Identifies a route whose rules may be held in another thread. */
export const routeDigest = ({ elsewhere, ...route }: RouteSpec): string =>
  elsewhere?.sha256 ?? hash('sha256', JSON.stringify(route));

/** Tags of the outbounds and balancers that a route can decide on. */
export function exitsNamedBy(route: RouteSpec): Set<string> {
  const named = route.elsewhere?.exits ?? route.rules.map(({ outbound }) => outbound);
  return new Set([...named, route.default]);
}

export const isSameRoute = (a: RouteSpec, b: RouteSpec): boolean =>
  a.elsewhere || b.elsewhere ? routeDigest(a) === routeDigest(b) : isDeepStrictEqual(a, b);
