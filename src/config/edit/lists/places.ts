import type { Span } from '../../../schema/node.ts';
import type { OpenNode } from '../../toml/tree.ts';

/** The end of the last character of a value, with the subtables and dotted keys that belong to it. */
export function contentEnd(node: OpenNode): number {
  let { end } = node.span;
  if (node.kind === 'table') {
    for (const { value } of node.entries.values()) end = Math.max(end, contentEnd(value));
  } else if (node.kind === 'array' && node.madeBy === 'header') {
    for (const item of node.items) end = Math.max(end, contentEnd(item));
  }
  return end;
}

/** Whether only white space precedes `offset` on its line. Looks no further back, so lines may have any length. */
export function isFirstOnLine(text: string, offset: number): boolean {
  let at = offset - 1;
  while (at >= 0 && (text[at] === ' ' || text[at] === '\t')) at -= 1;
  return at < 0 || text[at] === '\n';
}

/** Whether there is nothing but white space. */
export const isBlank = (text: string, start: number, end: number): boolean =>
  text.slice(start, end).trim() === '';

/** The place of a `key = value` by its parts. */
export const pairSpan = (key: Span, value: OpenNode): Span => ({
  start: key.start,
  end: contentEnd(value),
});
