import type { OutboundSpec } from '@weir/proxy/spec';

const builtin = (tag: string, protocol: string): OutboundSpec => ({
  tag,
  protocol,
  server: undefined,
  port: undefined,
  stream: undefined,
  addressFamily: 'auto',
  settings: undefined,
});

/** The outbounds that every configuration has, unless it uses their tags. */
const BUILTIN_OUTBOUNDS: readonly OutboundSpec[] = [
  builtin('direct', 'freedom'),
  builtin('blackhole', 'blackhole'),
];

/** Whether a tag is that of a built-in outbound. */
export const isBuiltinTag = (tag: string): boolean =>
  BUILTIN_OUTBOUNDS.some((outbound) => outbound.tag === tag);

/** Returns the built-in outbounds among the tags that a route names, without tags that the file defines. */
export function builtinOutbounds(
  named: ReadonlySet<string>,
  carried: ReadonlySet<string>,
): readonly OutboundSpec[] {
  return BUILTIN_OUTBOUNDS.filter(({ tag }) => named.has(tag) && !carried.has(tag));
}
