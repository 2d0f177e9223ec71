import type { OutboundSpec } from '../spec.ts';

const builtin = (tag: string, protocol: string): OutboundSpec => ({
  tag,
  protocol,
  server: undefined,
  port: undefined,
  stream: undefined,
  addressFamily: 'auto',
  settings: undefined,
});

/** The outbounds that every configuration has, unless another part of it has their names. */
const BUILTIN_OUTBOUNDS: readonly OutboundSpec[] = [
  builtin('direct', 'freedom'),
  builtin('blackhole', 'blackhole'),
];

/** Whether a route that names this tag may mean a built-in outbound. */
export const isBuiltinTag = (tag: string): boolean =>
  BUILTIN_OUTBOUNDS.some((outbound) => outbound.tag === tag);

/** The built-ins among the tags that a route names, without those that the file has itself. */
export function builtinOutbounds(
  named: ReadonlySet<string>,
  carried: ReadonlySet<string>,
): readonly OutboundSpec[] {
  return BUILTIN_OUTBOUNDS.filter(({ tag }) => named.has(tag) && !carried.has(tag));
}
