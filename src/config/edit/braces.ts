import type { Span } from '../../schema/node.ts';
import { insertion, type Splice } from './splice.ts';
import { eolNear, lineBreak, lineStart } from './toml-text.ts';

/** Where an inline table is. */
export interface Braces {
  readonly span: Span;
  /** Its last `key = value`. */
  readonly last: Span | undefined;
  /** The comma after that. */
  readonly lastComma: Span | undefined;
}

/** Adds `item`, a `key = value`, to an inline table: on a line of its own if the last one has that. */
export function intoBraces(
  text: string,
  { span, last, lastComma: comma }: Braces,
  item: string,
): readonly Splice[] {
  if (!last) {
    const at = span.start + 1;
    return [insertion(at, ` ${item}${text[at] === '}' ? ' ' : ''}`)];
  }
  const [from, to] = [last.end, span.end];
  const breakAt = lineBreak(text, comma ? comma.end : from);
  const indent = text.slice(lineStart(text, last.start), last.start);
  if (breakAt < to && indent.trim() === '') {
    const line = eolNear(text, breakAt) + indent + item;
    if (comma) return [insertion(breakAt, `${line},`)];
    return [insertion(from, ','), insertion(breakAt, line)];
  }
  return [comma ? insertion(comma.end, ` ${item},`) : insertion(from, `, ${item}`)];
}
