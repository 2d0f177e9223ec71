import { array, located, spanned, str, type Decoder } from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import type { Span } from '../../schema/node.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';
import { describe, expectedOneOf } from '../../schema/words.ts';
import { baseAfter, shiftNode, shiftSpan } from '../places.ts';
import type { SourceText } from './source-text.ts';
import { outboundShape } from '../tables/outbound.ts';
import { matcherShape } from '../tables/rule.ts';
import { TomlError } from '../toml/error.ts';
import { parseToml } from '../toml/parse.ts';

/** What a group without a pick uses: a keyword, or the target of another group. */
export type Inherit = 'default' | 'direct' | 'blackhole' | { readonly group: string };

const INHERIT_WORDS = ['default', 'direct', 'blackhole'] as const;

const inheritTable = struct({ group: str });

const inherit: Decoder<Inherit> = (node) => {
  if (node.kind === 'table') return inheritTable(node);
  if (node.kind !== 'string') {
    const message = `invalid type: ${describe(node)}, expected a string or a table`;
    throw new DecodeError(message, node.span);
  }
  const word = INHERIT_WORDS.find((known) => known === node.value);
  if (word) return word;
  const message = `unknown variant \`${node.value}\`, ${expectedOneOf([...INHERIT_WORDS, 'group'])}`;
  throw new DecodeError(message, node.span);
};

/** `[[proxy_server]]` as written: an outbound named by the provider of the file. */
const nodeTable = located(struct({ name: located(str), ...outboundShape }));

/** `[[route_group]]` as written. */
const groupTable = struct({
  name: located(str),
  inherit: optional(located(inherit)),
  rule: fallback(array(spanned(struct(matcherShape))), []),
});

const subscribeFile = struct({
  proxyServer: fallback(array(nodeTable), []),
  routeGroup: fallback(array(groupTable), []),
});

/** The contents of a subscribe file with their places. */
export type SubscribeFile = Output<typeof subscribeFile>;
export type RouteGroup = Output<typeof groupTable>;

/** What a group inherits; by default the default route. */
export const inheritOf = ({ inherit }: RouteGroup): Inherit => inherit?.value ?? 'default';

/** The place of `inherit`, or of the group's name without it. */
export const placeOfInherit = ({ inherit, name }: RouteGroup): Span => (inherit ?? name).span;

/**
 * Reads the shape of a subscribe file. Its places follow those of the configuration file `after`: see
 * `JoinedPlaces`.
 *
 * @throws {ConfigError} for the first place that is not TOML, or not of the right shape.
 */
export function readSubscribeFile(source: SourceText, after: SourceText): SubscribeFile {
  const base = baseAfter(after);
  try {
    return subscribeFile(shiftNode(parseToml(source.text), base));
  } catch (error) {
    if (error instanceof TomlError)
      throw source.tomlError(error.message, error.span, { cause: error });
    if (!(error instanceof DecodeError)) throw error;
    throw source.tomlError(error.message, shiftSpan(error.span, -base), { cause: error });
  }
}
