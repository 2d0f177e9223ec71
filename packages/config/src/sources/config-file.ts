import {
  anything,
  array,
  narrowed,
  fallback,
  optional,
  struct,
  type Decoded,
  disclosed,
  located,
  spanned,
  str,
  type Decoder,
  DecodeError,
  type Span,
  shaped,
  describeNode,
  expectedOneOf,
} from '@weir/proxy/schema';
import { apiTable } from '../api.ts';
import { balancerTable } from '../tables/balancer.ts';
import { dnsTable } from '../tables/dns.ts';
import { inboundTable } from '../tables/inbound.ts';
import { logTable } from '../tables/log.ts';
import { outboundTable, outboundShape } from '../tables/outbound.ts';
import { routeTable } from '../tables/route.ts';
import { subscribeTable } from '../tables/subscribe.ts';
import { matcherShape } from '../tables/rule.ts';

/** The top level of a configuration file: a new table is a file in `tables/` and a line here. */
export const configFile = struct(
  {
    log: optional(logTable),
    dns: optional(dnsTable),
    inbound: fallback(array(inboundTable), []),
    outbound: fallback(array(outboundTable), []),
    balancer: fallback(array(balancerTable), []),
    route: optional(routeTable),
    subscribe: optional(subscribeTable),
    api: optional(narrowed(anything, apiTable.shape ?? {})),
  },
  {
    log: 'What is logged',
    dns: 'How names are resolved; without it by the resolver of the machine',
    inbound: 'A listener',
    outbound: 'An upstream or a direct connection; the first is the default route',
    balancer: 'Interchangeable outbounds behind one tag',
    route: 'Where flows go',
    subscribe: 'A file of nodes and route groups',
    api: 'The control API',
  },
);

/** The contents of a file with their places, which `lowerConfig` interprets. */
export type ConfigFile = Decoded<typeof configFile>;

/** Returns the tags of the balancers of a file, in file order. */
export function balancerTags({ balancer }: ConfigFile): readonly string[] {
  return balancer.map(({ tag }) => tag.value);
}

/** The target of a group without a pick: a keyword, or the target of another group. */
export type Inherit = 'default' | 'direct' | 'blackhole' | { readonly group: string };

const INHERIT_WORDS = ['default', 'direct', 'blackhole'] as const;

const inheritTable = struct({ group: disclosed(str) });

const inherit = shaped<Decoder<Inherit>>(
  (node) => {
    if (node.kind === 'table') return inheritTable(node);
    if (node.kind !== 'string') {
      const message = `invalid type: ${describeNode(node)}, expected a string or a table`;
      throw new DecodeError(message, node.span);
    }
    const word = INHERIT_WORDS.find((known) => known === node.value);
    if (word) return word;
    const message = `unknown variant \`${node.value}\`, ${expectedOneOf([...INHERIT_WORDS, 'group'])}`;
    throw new DecodeError(message, node.span);
  },
  { anyOf: [{ type: 'string', enum: INHERIT_WORDS }, inheritTable.shape ?? {}] },
);

/** The table `[[proxy_server]]` as written: an outbound named by the provider of the file. */
const nodeTable = located(struct({ name: located(disclosed(str)), ...outboundShape }));

/** The table `[[route_group]]` as written. */
const groupTable = struct({
  name: located(disclosed(str)),
  inherit: optional(located(disclosed(inherit))),
  rule: fallback(array(spanned(struct(matcherShape))), []),
});

/** The top level of a subscribe file. */
export const subscribeFile = struct({
  proxyServer: fallback(array(nodeTable), []),
  routeGroup: fallback(array(groupTable), []),
});

/** The contents of a subscribe file with their places. */
export type SubscribeFile = Decoded<typeof subscribeFile>;
export type RouteGroup = Decoded<typeof groupTable>;

/** Returns the target that a group inherits; by default the default route. */
export const inheritOf = ({ inherit }: RouteGroup): Inherit => inherit?.value ?? 'default';

/** Returns the place of `inherit`, or of the group's name without it. */
export const placeOfInherit = ({ inherit, name }: RouteGroup): Span => (inherit ?? name).span;
