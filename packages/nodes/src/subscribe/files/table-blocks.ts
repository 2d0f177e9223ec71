import { type Header, outlineOf } from '@weir/config/edit';
import { lineStart, nextLine } from '@weir/config/text';
import { parseToml } from '@weir/config/toml';
import type { Span, TableNode } from '@weir/proxy/schema';

/** An element of an array of tables with a header, and its place in the text. */
export interface TableBlock {
  /** From the line of its header to the end of its last subtable's last line. */
  readonly span: Span;
  readonly table: TableNode;
}

/** The elements of a top-level array of tables in document order. */
export interface TableBlocks {
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
