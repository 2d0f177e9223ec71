import { WeirError } from '@weir/base';
import type { Span } from '@weir/proxy/schema';
import type { SourceText } from '../sources/source-text.ts';
import { inDocument } from './edit-text.ts';
import {
  outlineOf,
  samePath,
  startsWith,
  type Header,
  type InlineTable,
  type KeyEntry,
  type KeyPath,
  type Outline,
} from './outline.ts';
import { intoBraces, removeFromArray } from './lists/array-form.ts';
import { gapIn } from './lists/gap.ts';
import {
  insertion,
  splice,
  type Splice,
  basicString,
  dottedKey,
  endsLine,
  eolNear,
  indentAt,
  keyText,
  linesDeletion,
  lineStart,
  nextLine,
} from './toml-text.ts';

/**
 * Sets one string in a TOML document and leaves every other character unchanged.
 *
 * An existing value is replaced in place. Otherwise the key is added at the end of its table, in the form that the
 * document uses for it: below its header, as a dotted key, or in an inline table. A table that only subtables imply
 * gets a header before the first of them; a missing table is created after related tables, otherwise at the end.
 *
 * @param table the path of the table, at least one name
 * @param sliceLength see `slicesOf`
 * @returns the whole text; like the input, without a byte order mark
 * @throws {ConfigError} when it is not TOML, when the table or a parent of it is another kind of value, or when the key
 * is a table
 */
export function setString(
  source: SourceText,
  table: KeyPath,
  key: string,
  value: string,
  sliceLength?: number,
): string {
  return inDocument(source, () => {
    const outline = outlineOf(source.text, [...table, key], sliceLength);
    try {
      return splice(source.text, plan(outline, table, key, basicString(value)));
    } catch (error) {
      if (error instanceof Occupied) throw source.error('invalid', error.message, error.span);
      throw error;
    }
  });
}

/**
 * Removes one key of a TOML document, and leaves every other character unchanged. Removes its line, with the comment
 * after it; in an inline table the key and its comma. A comment above it stays, and an empty line separates the comment
 * from the following text. The table stays, even if empty.
 *
 * @param sliceLength see `slicesOf`
 * @returns the whole text; unchanged if it lacks the key
 * @throws {ConfigError} when it is not TOML
 */
export function removeKey(
  source: SourceText,
  table: KeyPath,
  key: string,
  sliceLength?: number,
): string {
  return inDocument(source, () => {
    const path = [...table, key];
    const outline = outlineOf(source.text, path, sliceLength);
    const entry = outline.entries.find((each) => samePath(each.path, path));
    return entry ? splice(source.text, removal(outline, entry)) : source.text;
  });
}

/** The error of a path of the table or of the key that has another kind of value. */
class Occupied extends WeirError {
  readonly span: Span;

  constructor(message: string, { key }: { readonly key: Span }) {
    super('occupied', message);
    this.span = key;
  }
}

function plan(outline: Outline, table: KeyPath, key: string, literal: string): readonly Splice[] {
  const target = [...table, key];
  const present = outline.entries.find((entry) => samePath(entry.path, target));
  if (present) {
    const { start, end } = present.node.value;
    return [{ at: start, remove: end - start, insert: literal }];
  }
  refuseOtherKinds(outline, table, target);
  for (let depth = table.length; depth > 0; depth -= 1) {
    const rest = target.slice(depth);
    const found = extend(outline, table.slice(0, depth), rest, literal);
    if (found) return found;
  }
  return [newTable(outline, outline.text.length, table, key, literal)];
}

function refuseOtherKinds({ entries, headers }: Outline, table: KeyPath, target: KeyPath): void {
  for (let depth = 1; depth <= table.length; depth += 1) {
    const path = table.slice(0, depth);
    const value = entries.find((entry) => samePath(entry.path, path))?.node;
    const array = headers.find(({ path: written, isArray }) => isArray && samePath(written, path));
    const other = value && value.table === undefined ? value : array;
    if (other) throw new Occupied(`\`${dottedKey(path)}\` is not a table`, other);
  }
  const goesOn = ({ path }: KeyEntry | Header): boolean => startsWith(path, target);
  const other = entries.find(goesOn)?.node ?? headers.find(goesOn);
  if (other) throw new Occupied(`\`${dottedKey(target)}\` is a table, not a name`, other);
}

/** Adds the key `rest` to the table `path`, in the form that the document uses for the table. */
function extend(
  outline: Outline,
  path: KeyPath,
  rest: KeyPath,
  literal: string,
): readonly Splice[] | undefined {
  const { text, entries, headers } = outline;
  for (const { path: written, node } of entries) {
    if (node.table && samePath(written, path)) {
      return intoInlineTable(text, node.table, rest, literal);
    }
  }
  const dotted = entries.findLast((entry) => isDottedInto(entry, path));
  if (dotted) {
    const prefix = writtenPrefix(text, dotted, path.length);
    return [lineAfter(text, dotted.node.span, `${prefix}.${dottedKey(rest)} = ${literal}`)];
  }
  const [key = ''] = rest;
  const first = headers.find((header) => startsWith(header.path, path));
  if (!first) return undefined;
  if (rest.length > 1) {
    const last = headers.findLast((header) => startsWith(header.path, path)) ?? first;
    const at = endOfSection(outline, last.span);
    return [newTable(outline, at, [...path, ...rest.slice(0, -1)], rest.at(-1) ?? '', literal)];
  }
  const own = headers.find((header) => samePath(header.path, path));
  if (own) {
    return [lineAfter(text, own.last ?? own.span, `${keyText(key)} = ${literal}`)];
  }
  return [newTable(outline, startOfSection(outline, first.span), path, key, literal)];
}

/** Whether the dotted key of `entry`, rather than a header or an inline table, makes `path` a table. */
const isDottedInto = (entry: KeyEntry, path: KeyPath): boolean =>
  !entry.inline &&
  entry.owner < path.length &&
  entry.path.length > path.length &&
  startsWith(entry.path, path);

/** Returns the dotted key of `entry` up to `depth` names from the root, quoted as in the document. */
function writtenPrefix(text: string, entry: KeyEntry, depth: number): string {
  const { key, nameSpans } = entry.node;
  const last = nameSpans[depth - entry.owner - 1] ?? key;
  return text.slice(key.start, last.end);
}

/** Inserts a line after the one on which `neighbour` ends, with the same indentation. */
function lineAfter(text: string, neighbour: Span, line: string): Splice {
  const at = nextLine(text, neighbour.end);
  const eol = eolNear(text, at);
  const indented = indentAt(text, neighbour.start) + line;
  // Only the last line of a file may lack a line break; the new last line then lacks it too.
  return insertion(at, endsLine(text, at) ? indented + eol : eol + indented);
}

/** Inserts a header and its first key, separated from their neighbours by empty lines. */
function newTable(
  { text }: Outline,
  at: number,
  table: KeyPath,
  key: string,
  literal: string,
): Splice {
  const eol = eolNear(text, at);
  const block = `[${dottedKey(table)}]${eol}${keyText(key)} = ${literal}`;
  const isBlank = text.slice(lineStart(text, Math.max(at - 1, 0)), at).trim() === '';
  const before = (endsLine(text, at) ? '' : eol) + (isBlank ? '' : eol);
  const after = at < text.length ? eol + eol : endsLine(text, at) ? eol : '';
  return insertion(at, before + block + after);
}

/**
 * Returns the offset for a new table before `section`: above the comment lines that directly precede it.
 */
function startOfSection({ text, sections }: Outline, section: Span): number {
  const previous = sections.findLast(({ start }) => start < section.start);
  const floor = previous ? nextLine(text, previous.end) : 0;
  let start = lineStart(text, section.start);
  while (start > floor) {
    const above = lineStart(text, start - 1);
    if (!text.slice(above, start).trimStart().startsWith('#')) break;
    start = above;
  }
  return start;
}

/** Returns the offset for a new table after `section`: before the next one, or at the end. */
function endOfSection(outline: Outline, section: Span): number {
  const next = outline.sections.find(({ start }) => start > section.start);
  return next ? startOfSection(outline, next) : outline.text.length;
}

function intoInlineTable(
  text: string,
  table: InlineTable,
  rest: KeyPath,
  literal: string,
): readonly Splice[] {
  const item = inlineItem(table, rest, literal);
  return intoBraces(text, { span: table.span, items: table.body.map(({ span }) => span) }, item);
}

/** Returns the item for a key: missing parents become inline tables, unless dotted keys already create them. */
function inlineItem(table: InlineTable, rest: KeyPath, literal: string): string {
  const [first = '', ...deeper] = rest;
  const isDotted = table.body.some(({ names }) => names[0] === first);
  if (deeper.length === 0 || isDotted) return `${dottedKey(rest)} = ${literal}`;
  return `${keyText(first)} = ${deeper.reduceRight(
    (value, name) => `{ ${keyText(name)} = ${value} }`,
    literal,
  )}`;
}

function removal(outline: Outline, { node, inline }: KeyEntry): readonly Splice[] {
  const { text, entries } = outline;
  if (!inline) {
    const { start, end } = node.span;
    const lines = { start: lineStart(text, start), end: nextLine(text, end) };
    return [linesDeletion(text, lines, isCommentAbove(outline, start))];
  }
  for (const { node: outer } of entries) {
    const body = outer.table?.body ?? [];
    const index = body.indexOf(node);
    // The keys of an inline table are separated like the elements of an array.
    if (outer.table && index >= 0) {
      const items = body.map(({ span }) => span);
      return removeFromArray(text, { span: outer.table.span, items }, index);
    }
  }
  throw new RangeError('a key of an inline table is in one');
}

/** Whether a comment is alone on the line above a key. */
function isCommentAbove({ text, entries, headers, sections }: Outline, key: number): boolean {
  const spans = [...entries.map(({ node }) => node.span), ...headers.map((each) => each.key)];
  const ends = [...spans, ...sections].map(({ end }) => end).filter((end) => end <= key);
  const start = ends.reduce((last, end) => Math.max(last, end), 0);
  const { lines } = gapIn(text, { start, end: key });
  return (lines.length > 2 || start === 0) && lines.at(-2)?.comment !== undefined;
}
