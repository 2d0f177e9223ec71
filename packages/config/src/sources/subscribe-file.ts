import {
  array,
  type Decoded,
  DecodeError,
  type Decoder,
  describeNode,
  disclosed,
  expectedOneOf,
  fallback,
  located,
  optional,
  shaped,
  type Span,
  spanned,
  str,
  struct,
} from '@weir/proxy/schema';
import { outboundShape } from '../tables/outbound.ts';
import { matcherShape } from '../tables/rule.ts';

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
