import type { Span } from '@weir/proxy/schema';
import type { OpenTable, OpenNode } from '../../toml/tree.ts';
import {
  deletion,
  insertion,
  linesDeletion,
  type Splice,
  endsLine,
  eolNear,
  indentAt,
  lineBreak,
  nextLine,
} from '../toml-text.ts';
import {
  gapIn,
  isEmptyLine,
  linesAbove,
  labelAbove,
  labelComment,
  labelIn,
  ownLines,
  type Gap,
} from './gap.ts';

/** A `[[header]]` and the lines of its keys. */
interface NewBlock {
  /** The header, brackets included. */
  readonly header: string;
  /** The lines of the keys, `key = value` each. */
  readonly lines: readonly string[];
  readonly label?: string | undefined;
}

/**
 * Adds a block after the last one of an array of tables, in its layout.
 * @param above the gap before the last block
 */
export function appendBlock(
  text: string,
  last: OpenTable,
  above: Gap,
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
    isApart: linesAbove(above).length < above.lines.length - 2,
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
  /** Whether an empty line precedes the block. */
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

/** Returns the label of a block: on one of its lines, or directly above its header. */
export function labelOfBlock(text: string, block: OpenTable, above: Gap): string | undefined {
  let start = block.span.end;
  for (const pair of pairsOf(block)) {
    for (const { comment } of gapIn(text, { start, end: pair.start }).lines) {
      const label = labelIn(text, comment);
      if (label !== undefined) return label;
    }
    start = pair.end;
  }
  const { first } = gapIn(text, { start, end: lineBreak(text, start) });
  return labelIn(text, first.comment) ?? labelAbove(text, above);
}

/**
 * Removes a block, the labels directly above it, and the empty lines before it. Other comments above it stay, and an
 * empty line separates them from the following text. A block that `appendBlock` added is removed without a trace.
 */
export function removeBlock(text: string, block: OpenTable, above: Gap): readonly Splice[] {
  const labels = ownLines(text, above);
  const lines = above.lines.slice(1, -1);
  const last = lines.findLastIndex((line) => !labels.includes(line) && !isEmptyLine(line));
  const start = lines[last + 1]?.start ?? above.last.start;
  const end = nextLine(text, contentEnd(block));
  return [
    ...labels.filter((line) => line.start < start).map((line) => deletion(line.start, line.end)),
    linesDeletion(text, { start, end }, last >= 0),
  ];
}

/** Returns the end of the last character of a value, with the subtables and dotted keys that belong to it. */
export function contentEnd(node: OpenNode): number {
  let { end } = node.span;
  if (node.kind === 'table') {
    for (const { value } of node.entries.values()) end = Math.max(end, contentEnd(value));
  } else if (node.kind === 'array' && node.madeBy === 'header') {
    for (const item of node.items) end = Math.max(end, contentEnd(item));
  }
  return end;
}

/** Returns the places of the pairs `key = value` of a table, in their order in the document. */
export const pairsOf = ({ entries }: OpenTable): readonly Span[] =>
  Array.from(entries.values(), ({ key, value }) => ({
    start: key.start,
    end: contentEnd(value),
  })).sort((a, b) => a.start - b.start);

/** The ends of the headers and keys of a document. */
export class ContentEnds {
  readonly #ends: readonly number[];

  constructor(root: OpenTable) {
    const ends: number[] = [];
    const collect = (node: OpenNode): void => {
      ends.push(node.span.end);
      if (node.kind === 'array' && node.madeBy === 'header') node.items.forEach(collect);
      if (node.kind !== 'table' || node.madeBy === 'braces') return;
      for (const { value } of node.entries.values()) collect(value);
    };
    collect(root);
    this.#ends = ends.toSorted((a, b) => a - b);
  }

  /** Returns the end of the content before `offset`; 0 if there is none. */
  before(offset: number): number {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#ends[low - 1] ?? 0;
  }
}
