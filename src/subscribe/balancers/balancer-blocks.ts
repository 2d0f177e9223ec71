import { lineBreak, lineStart } from '../../config/edit/toml-text.ts';
import { parseFollow, type FollowMarker, type InvalidMarker } from '../../import/write/markers.ts';
import type { ArrayNode, Span } from '../../schema/node.ts';
import { tableBlocks } from '../files/table-blocks.ts';
import { stringAt } from '../nodes/node-values.ts';

/** A balancer of a configuration with its places in the text. */
export interface BalancerBlock {
  readonly tag: string;
  readonly members: readonly string[];
  /** The list of its members. */
  readonly list: ArrayNode;
  readonly follows:
    | { readonly marker: FollowMarker | InvalidMarker; readonly span: Span }
    | undefined;
}

/**
 * The balancers of a configuration that are written below a `[[balancer]]` header, in file order.
 * @throws {TomlError} when it is not TOML
 */
export const balancerBlocks = (text: string): readonly BalancerBlock[] =>
  tableBlocks(text, 'balancer').blocks.flatMap(({ span, table }) => {
    const list = table.entries.get('outbounds')?.value;
    if (list?.kind !== 'array') return [];
    const members = list.items.flatMap((item) => (item.kind === 'string' ? [item.value] : []));
    if (members.length < list.items.length) return [];
    return [{ tag: stringAt(table, 'tag'), members, list, follows: markerAbove(text, span.start) }];
  });

/** The marker in the lines of comments directly above an offset, the start of a line; the last one of several. */
function markerAbove(text: string, offset: number): BalancerBlock['follows'] {
  for (let at = offset; at > 0;) {
    const start = lineStart(text, at - 1);
    const span = { start, end: lineBreak(text, start) };
    const line = text.slice(span.start, span.end);
    if (!line.trimStart().startsWith('#')) return undefined;
    const marker = parseFollow(line);
    if (marker) return { marker, span };
    at = start;
  }
  return undefined;
}

/** The tags of balancers that have a line "follows". */
export const followingTags = (text: string): ReadonlySet<string> =>
  new Set(balancerBlocks(text).flatMap(({ tag, follows }) => (follows ? [tag] : [])));

const isFollowing = ({ follows }: BalancerBlock, names: readonly string[]): boolean =>
  follows !== undefined &&
  'sources' in follows.marker &&
  follows.marker.sources.some((each) => names.includes(each));

/** The text of the members and markers of balancers that follow a source by one of these names, or any. */
export const followingText = (text: string, names?: readonly string[]): string =>
  balancerBlocks(text)
    .filter((block) => block.follows && (!names || isFollowing(block, names)))
    .map(({ list: { span }, follows }) => {
      const marker = follows ? text.slice(follows.span.start, follows.span.end) : '';
      return `${marker}\n${text.slice(span.start, span.end)}\n`;
    })
    .join('');
