import { deletion, insertion, type Splice } from '../splice.ts';
import type { OpenTable } from '../../toml/tree.ts';
import { endsLine, eolNear, indentAt, lineBreak, lineStart, nextLine } from '../toml-text.ts';
import { labelAbove, labelComment, labelsAbove, labelWithin, type Label } from './label.ts';
import { contentEnd, isBlank } from './places.ts';

/** A `[[header]]` and the lines of its keys. */
export interface NewBlock {
  /** With its brackets. */
  readonly header: string;
  /** `key = value` each. */
  readonly lines: readonly string[];
  readonly label?: string | undefined;
}

/** Adds a block after the last one of an array of tables, in its layout. */
export function appendBlock(
  text: string,
  last: OpenTable,
  { lines, label }: Omit<NewBlock, 'header'>,
): readonly Splice[] {
  const header = text.slice(last.span.start, last.span.end);
  const [first] = last.entries.values();
  const outer = indentAt(text, last.span.start);
  return blockAfter(text, contentEnd(last), {
    header,
    lines,
    label,
    outer,
    inner: first && first.key.start > last.span.end ? indentAt(text, first.key.start) : outer,
    isApart: hasBlankAbove(text, blockStart(text, last)),
  });
}

/** Adds a block below other content of the same table, after an empty line. */
export const firstBlock = (
  text: string,
  end: number,
  block: NewBlock,
  indent: string,
): readonly Splice[] =>
  blockAfter(text, end, { ...block, outer: indent, inner: indent, isApart: true });

interface Layout extends NewBlock {
  /** The indentation of the header. */
  readonly outer: string;
  /** The indentation of the keys. */
  readonly inner: string;
  /** Whether an empty line precedes it. */
  readonly isApart: boolean;
}

function blockAfter(
  text: string,
  end: number,
  { header, lines, label, outer, inner, isApart }: Layout,
): readonly Splice[] {
  const at = nextLine(text, end);
  const eol = eolNear(text, at);
  const note = label === undefined ? '' : ` ${labelComment(label)}`;
  const block = [outer + header + note, ...lines.map((line) => inner + line)].join(eol);
  const gap = isApart ? eol : '';
  return [insertion(at, endsLine(text, at) ? gap + block + eol : eol + gap + block)];
}

/** The label of a block: on one of its lines, or above its header. */
export function labelOfBlock(text: string, block: OpenTable): Label | undefined {
  const pairs = [...block.entries.values()]
    .map(({ key, value }) => ({ start: key.start, end: contentEnd(value) }))
    .toSorted((a, b) => a.start - b.start);
  let from = block.span.end;
  for (const { start, end } of pairs) {
    const found = labelWithin(text, { start: from, end: start });
    if (found) return found;
    from = end;
  }
  return (
    labelWithin(text, { start: from, end: lineBreak(text, from) }) ??
    labelAbove(text, block.span.start, 0)
  );
}

/** The start of the first line of a block: of its label, if that stands directly above the header. */
function blockStart(text: string, block: OpenTable): number {
  const header = lineStart(text, block.span.start);
  const label = labelAbove(text, block.span.start, 0);
  const line = label && lineStart(text, label.comment.start);
  return line !== undefined && nextLine(text, label?.comment.end ?? 0) === header ? line : header;
}

const hasBlankAbove = (text: string, line: number): boolean =>
  line > 0 && isBlank(text, lineStart(text, line - 1), line);

/**
 * Removes a block, its label and the empty lines before it. What `appendBlock` has added leaves no trace.
 */
export function removeBlock(text: string, block: OpenTable): readonly Splice[] {
  let start = blockStart(text, block);
  while (hasBlankAbove(text, start)) start = lineStart(text, start - 1);
  const end = nextLine(text, contentEnd(block));
  if (end === text.length && !endsLine(text, end) && start > 0) {
    // The file still ends without a line break.
    start -= text.startsWith('\r\n', start - 2) ? 2 : 1;
  }
  const above = labelsAbove(text, block.span.start, 0).filter(({ comment }) => comment.end < start);
  const lines = above.map(({ comment }) =>
    deletion(lineStart(text, comment.start), nextLine(text, comment.end)),
  );
  return [...lines, deletion(start, end)];
}
