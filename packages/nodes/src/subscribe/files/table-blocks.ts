import { outlineOf, type Header, splice } from '@weir/config/edit';
import { lineStart, nextLine, breakBefore, isBlankLine } from '@weir/config/text';
import { parseToml } from '@weir/config/toml';
import type { Span, TableNode } from '@weir/proxy/schema';

/** An element of an array of tables with a header, and its place in the text. */
interface TableBlock {
  /** From the line of its header to the end of its last subtable's last line. */
  readonly span: Span;
  readonly table: TableNode;
}

/** The elements of a top-level array of tables in document order. */
interface TableBlocks {
  readonly blocks: readonly TableBlock[];
  /** Elements of an inline array, which have no header. */
  readonly inline: readonly TableNode[];
}

/**
 * Finds the elements of the array of tables `key` in a TOML document.
 * @throws {TomlError} when it is not TOML
 */
export function tableBlocks(text: string, key: string): TableBlocks {
  const list = parseToml(text).entries.get(key)?.value;
  const tables = list?.kind === 'array' ? list.items.filter((item) => item.kind === 'table') : [];
  const headers = outlineOf(text, [key]).headers;
  const heads = headers.filter(isElement);
  if (heads.length === 0) return { blocks: [], inline: tables };
  const spans = spansOf(text, headers);
  return {
    blocks: tables.flatMap((table, index) => {
      const span = spans[index];
      return span ? [{ span, table }] : [];
    }),
    inline: [],
  };
}

const isElement = ({ path, isArray }: Header): boolean => isArray && path.length === 1;

/** The spans of the elements: each includes the subtables that follow it. */
function spansOf(text: string, headers: readonly Header[]): readonly Span[] {
  const spans: { start: number; end: number }[] = [];
  for (const header of headers) {
    const { span, last } = header;
    const end = nextLine(text, last?.end ?? header.key.end);
    const open = spans.at(-1);
    if (isElement(header)) spans.push({ start: lineStart(text, span.start), end });
    else if (open) open.end = end;
  }
  return spans;
}

/** A replacement of a part of a text; an insertion if its span is empty. */
export interface Replacement {
  readonly span: Span;
  readonly text: string;
}

/** Applies non-overlapping replacements, in any order; insertions at the same place keep their order. */
export function withReplacements(text: string, replacements: readonly Replacement[]): string {
  const inOrder = replacements.toSorted((a, b) => a.span.start - b.span.start);
  return splice(
    text,
    inOrder.map(({ span: { start, end }, text: insert }) => ({
      at: start,
      remove: end - start,
      insert,
    })),
  );
}

/**
 * Removes whole lines with the blank line before them, so that no gap remains. A comment above them is kept, separated
 * by a blank line from the text that follows.
 */
export function removals(text: string, spans: readonly Span[]): readonly Replacement[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last && text.slice(last.end, span.start).trim() === '') {
      joined[joined.length - 1] = { start: last.start, end: span.end };
    } else joined.push(span);
  }
  return joined.map((span) => ({ span: withBlankLine(text, span), text: '' }));
}

function withBlankLine(text: string, { start, end }: Span): Span {
  if (isCommentBefore(text, start) && !isBlankLine(text, end)) {
    const isApart = isBlankLine(text, lineStart(text, start - 1));
    return { start, end: isApart ? end : end - breakBefore(text, end).length };
  }
  for (const blank of ['\n\n', '\n\r\n']) {
    if (text.endsWith(blank, start) && start - blank.length >= 0) {
      return { start: start - blank.length + 1, end };
    }
  }
  return { start, end };
}

/** Whether the last non-blank line before `offset` is a comment. */
function isCommentBefore(text: string, offset: number): boolean {
  const before = text.slice(0, offset).trimEnd();
  return before.slice(lineStart(before, before.length)).trimStart().startsWith('#');
}
