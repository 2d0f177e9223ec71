import { lineBreak, lineStart } from '@weir/config/text';
import type { ArrayNode, Span } from '@weir/proxy/schema';
import { type FollowMarker, type InvalidMarker, parseFollow } from '../../import/write/markers.ts';
import { tableBlocks } from '../files/table-blocks.ts';
import { stringAt } from '../nodes/node-values.ts';

/** A balancer of a configuration with a "follows" marker above it, and their places in the text. */
export interface FollowingBlock {
  readonly tag: string;
  readonly members: readonly string[];
  /** The array of its members. */
  readonly list: ArrayNode;
  readonly marker: FollowMarker | InvalidMarker;
  /** The span of the marker's line, without a line end. */
  readonly markerSpan: Span;
}

/**
 * The balancers with a `[[balancer]]` header that follow sources, in file order.
 * @throws {TomlError} when it is not TOML
 */
export function followingBlocks(text: string): readonly FollowingBlock[] {
  // Few files have a marker, and parsing a large file takes time.
  if (!text.includes('follows:')) return [];
  return tableBlocks(text, 'balancer').blocks.flatMap(({ span, table }) => {
    const list = table.entries.get('outbounds')?.value;
    const follows = markerAbove(text, span.start);
    if (!follows || list?.kind !== 'array') return [];
    const members = list.items.flatMap((item) => (item.kind === 'string' ? [item.value] : []));
    if (members.length < list.items.length) return [];
    return [{ tag: stringAt(table, 'tag'), members, list, ...follows }];
  });
}

/** The marker in the comment lines directly above an offset, which is the start of a line; the last one of several. */
function markerAbove(
  text: string,
  offset: number,
): Pick<FollowingBlock, 'marker' | 'markerSpan'> | undefined {
  for (let at = offset; at > 0;) {
    const start = lineStart(text, at - 1);
    const markerSpan = { start, end: lineBreak(text, start) };
    const line = text.slice(markerSpan.start, markerSpan.end);
    if (!line.trimStart().startsWith('#')) return undefined;
    const marker = parseFollow(line);
    if (marker) return { marker, markerSpan };
    at = start;
  }
  return undefined;
}

/** The text of the members and markers of balancers that follow a source by one of these names, or any source. */
export const followingText = (text: string, names?: readonly string[]): string =>
  followingBlocks(text)
    .filter(
      ({ marker }) =>
        !names || ('sources' in marker && marker.sources.some((each) => names.includes(each))),
    )
    .map(({ list, markerSpan }) => textOf(text, markerSpan) + textOf(text, list.span))
    .join('');

const textOf = (text: string, { start, end }: Span): string => `${text.slice(start, end)}\n`;
