import { isDeepStrictEqual } from 'node:util';
import type { Spec } from '@weir/proxy/spec';
import type { AppliedReport } from '../../../../src/supervisor/reload-report.ts';
import {
  facts,
  isTcp,
  isUdp,
  placed,
  type InboundShape,
  type Placed,
  type Shape,
} from './shapes.ts';

/** A bound listener that owns its sessions. */
export interface SessionListener {
  /** Tag of its inbound; `undefined` while it is only open for its sessions. */
  owner: string | undefined;
  shape: InboundShape;
  sessions: number;
}

const isAtPlace = (a: InboundShape, b: InboundShape): boolean =>
  a.place === b.place && a.wide === b.wide;

/** Whether an inbound goes on with a listener: its own, or one that another no longer needs. */
const continues = (next: Placed, { shape }: SessionListener): boolean =>
  !isTcp(next) && isAtPlace(next, shape) && next.kind === shape.kind && next.fixed === shape.fixed;

/** Why a reload would end live sessions: found by its plan, or when everything else is bound. */
export function disruptionOf(
  listeners: readonly SessionListener[],
  shape: Shape,
): 'restart' | 'address' | undefined {
  let found: 'address' | undefined;
  for (const next of placed(shape).filter(isUdp)) {
    const there = listeners.find((each) => each.shape.place === next.place);
    if (!there || there.sessions === 0 || continues(next, there)) continue;
    if (there.owner === next.tag && !isTcp(next) && isAtPlace(next, there.shape)) return 'restart';
    found = 'address';
  }
  return found;
}

/** The listeners after a reload that has succeeded. */
export function listenersAfter(
  before: readonly SessionListener[],
  shape: Shape,
): SessionListener[] {
  const after: SessionListener[] = [];
  const wanted = placed(shape).filter((next) => !isTcp(next));
  for (const next of wanted) {
    const kept = before.find((each) => continues(next, each));
    const listener = kept ?? { owner: undefined, shape: next, sessions: 0 };
    listener.owner = next.tag;
    listener.shape = next;
    after.push(listener);
  }
  for (const listener of before) {
    if (after.includes(listener) || listener.sessions === 0) continue;
    listener.owner = undefined;
    after.push(listener);
  }
  return after;
}

const find = <T extends { readonly tag: string }>(
  items: readonly T[] | undefined,
  tag: string,
): T | undefined => items?.find((item) => item.tag === tag);

/** The report of a reload, by the meaning of each of its words in docs/dashboard.md. */
export function reportOf(
  before: Spec | undefined,
  after: Spec,
  versions: ReadonlyMap<string, number>,
): AppliedReport {
  const [built, swapped, drained, rebound, restarted, reused]: string[][] = [
    [],
    [],
    [],
    [],
    [],
    [],
  ];
  const add = (name: string, kept: boolean): void => void (kept ? reused : built)?.push(name);
  const kept = new Set<string>();
  add('dns', isDeepStrictEqual(before?.dns, after.dns));
  for (const each of after.outbounds) {
    const same = isDeepStrictEqual(find(before?.outbounds, each.tag), each);
    if (same) kept.add(each.tag);
    add(`outbound ${each.tag}@v${(versions.get(each.tag) ?? 0) + (same ? 0 : 1)}`, same);
  }
  for (const { tag } of before?.outbounds ?? []) {
    if (!kept.has(tag)) drained?.push(`${tag}@v${versions.get(tag)}`);
  }
  for (const each of after.balancers) {
    const same = isDeepStrictEqual(find(before?.balancers, each.tag), each);
    const stands = same && each.outbounds.every((member) => kept.has(member));
    if (stands) kept.add(each.tag);
    add(`balancer ${each.tag}`, stands);
  }
  const { route } = after;
  const targets = [route.default, ...route.rules.map(({ outbound }) => outbound)];
  const stands = targets.every((tag) => kept.has(tag));
  add('route', stands && isDeepStrictEqual(before?.route, route));
  for (const each of after.inbounds) {
    const users = facts.usersOf(each);
    const old = find(before?.inbounds, each.tag);
    if (!users) continue;
    const same = old?.protocol === each.protocol && isDeepStrictEqual(facts.usersOf(old), users);
    add(`user set ${each.tag}`, same);
  }
  for (const each of after.inbounds) {
    const { tag } = each;
    const old = find(before?.inbounds, tag);
    if (!old || isDeepStrictEqual(old, each)) {
      add(`inbound ${tag}`, old !== undefined);
      continue;
    }
    const stays =
      isDeepStrictEqual(old.listen, each.listen) && facts.meansOf(old) === facts.meansOf(each);
    const changes = facts.restartReason(old, each) === undefined ? swapped : restarted;
    (stays ? changes : rebound)?.push(tag);
  }
  const removed = (before?.inbounds ?? [])
    .map(({ tag }) => tag)
    .filter((tag) => !find(after.inbounds, tag));
  return {
    status: 'applied',
    built: built ?? [],
    swapped: swapped ?? [],
    drained: drained ?? [],
    rebound: rebound ?? [],
    restarted: restarted ?? [],
    removed,
    reused: reused ?? [],
  };
}
