import type { AST } from 'toml-eslint-parser';
import { WeirError } from '../../errors.ts';
import type { Span } from '../../schema/node.ts';
import type { SourceText } from '../source-text.ts';
import { TomlError } from '../toml/error.ts';
import {
  namesOf,
  outlineOf,
  samePath,
  startsWith,
  type KeyEntry,
  type KeyPath,
  type Outline,
} from './outline.ts';
import {
  basicString,
  dottedKey,
  eolNear,
  indentAt,
  keyText,
  lineBreak,
  lineStart,
  nextLine,
} from './toml-text.ts';

/** Takes `remove` UTF-16 units away at `at`, and puts `insert` there. */
interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

const insertion = (at: number, insert: string): Splice => ({ at, remove: 0, insert });

/**
 * Sets one string in a TOML document, and leaves every other character as it is.
 *
 * A value that is there is replaced where it stands. Otherwise the key is added at the end of its
 * table, in the form in which the document writes that table: under its header, as a dotted key, or
 * between the braces of an inline table. A table that only subtables imply gets its header, before
 * the first of them; a table that does not exist is created after its relatives, else at the end.
 *
 * @param table the path of the table, at least one name
 * @returns the whole text, without a byte order mark as it was given
 * @throws {ConfigError} when it is not TOML, when the table or a parent of it is something else, and
 *   when the key is itself a table
 */
export function setString(source: SourceText, table: KeyPath, key: string, value: string): string {
  try {
    const outline = outlineOf(source.text, [...table, key]);
    return apply(source.text, plan(outline, table, key, basicString(value)));
  } catch (error) {
    if (error instanceof TomlError)
      throw source.tomlError(error.message, error.span, { cause: error });
    if (error instanceof Occupied) throw source.error('invalid', error.message, error.span);
    throw error;
  }
}

/** Another kind of value in the place of a table or of the key. */
class Occupied extends WeirError {
  readonly span: Span;

  constructor(message: string, { key }: AST.TOMLKeyValue | AST.TOMLTable) {
    super('occupied', message);
    this.span = { start: key.range[0], end: key.range[1] };
  }
}

function apply(text: string, splices: readonly Splice[]): string {
  let result = '';
  let from = 0;
  for (const { at, remove, insert } of splices) {
    result += text.slice(from, at) + insert;
    from = at + remove;
  }
  return result + text.slice(from);
}

function plan(outline: Outline, table: KeyPath, key: string, literal: string): readonly Splice[] {
  const target = [...table, key];
  const present = outline.entries.find((entry) => samePath(entry.path, target));
  if (present) {
    const [from, to] = present.node.value.range;
    return [{ at: from, remove: to - from, insert: literal }];
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
    const array = headers.find(
      ({ path: written, node }) => node.kind === 'array' && samePath(written, path),
    );
    const other = value && value.value.type !== 'TOMLInlineTable' ? value : array?.node;
    if (other) throw new Occupied(`\`${dottedKey(path)}\` is not a table`, other);
  }
  const goesOn = [...entries, ...headers].find(({ path }) => startsWith(path, target));
  if (goesOn) throw new Occupied(`\`${dottedKey(target)}\` is a table, not a name`, goesOn.node);
}

/** Adds the key `rest` to the table `path`, in the form in which the document has that table. */
function extend(
  outline: Outline,
  path: KeyPath,
  rest: KeyPath,
  literal: string,
): readonly Splice[] | undefined {
  const { text, entries, headers } = outline;
  for (const { path: written, node } of entries) {
    if (node.value.type === 'TOMLInlineTable' && samePath(written, path)) {
      return intoInlineTable(outline, node.value, rest, literal);
    }
  }
  const dotted = entries.findLast((entry) => isDottedInto(entry, path));
  if (dotted) {
    const prefix = writtenPrefix(text, dotted, path.length);
    return [lineAfter(text, dotted.node, `${prefix}.${dottedKey(rest)} = ${literal}`)];
  }
  const [key = ''] = rest;
  const first = headers.find((header) => startsWith(header.path, path));
  if (!first) return undefined;
  if (rest.length > 1) {
    const last = headers.findLast((header) => startsWith(header.path, path)) ?? first;
    const at = endOfSection(outline, last.node);
    return [newTable(outline, at, [...path, ...rest.slice(0, -1)], rest.at(-1) ?? '', literal)];
  }
  const own = headers.find((header) => samePath(header.path, path));
  if (own) {
    const neighbour = own.node.body.at(-1) ?? own.node;
    return [lineAfter(text, neighbour, `${keyText(key)} = ${literal}`)];
  }
  return [newTable(outline, startOfSection(outline, first.node), path, key, literal)];
}

/** Whether the dotted key of `entry`, and no header or inline table, makes `path` a table. */
const isDottedInto = (entry: KeyEntry, path: KeyPath): boolean =>
  !entry.inline &&
  entry.owner < path.length &&
  entry.path.length > path.length &&
  startsWith(entry.path, path);

/** The dotted key of `entry` up to `depth` names from the root, with the user's own quotes. */
function writtenPrefix(text: string, entry: KeyEntry, depth: number): string {
  const last = entry.node.key.keys[depth - entry.owner - 1];
  return text.slice(entry.node.key.range[0], (last ?? entry.node.key).range[1]);
}

/** A line of its own after that on which `neighbour` ends, indented like it. */
function lineAfter(text: string, neighbour: AST.TOMLNode, line: string): Splice {
  const [from, to] = neighbour.range;
  const at = nextLine(text, to);
  const eol = eolNear(text, at);
  const indented = indentAt(text, from) + line;
  // Only the last line of a file lacks its line break, and then the new last line does.
  return insertion(at, endsLine(text, at) ? indented + eol : eol + indented);
}

const endsLine = (text: string, at: number): boolean => at === 0 || text[at - 1] === '\n';

/** A header and its first key, kept apart from their neighbours by empty lines. */
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

/** Where a new table is inserted before `node`: above the comment lines that directly precede it. */
function startOfSection({ text, sections }: Outline, node: Outline['sections'][number]): number {
  const previous = sections[sections.indexOf(node) - 1];
  const floor = previous ? nextLine(text, previous.range[1]) : 0;
  let start = lineStart(text, node.range[0]);
  while (start > floor) {
    const above = lineStart(text, start - 1);
    if (!text.slice(above, start).trimStart().startsWith('#')) break;
    start = above;
  }
  return start;
}

/** Where a new table is inserted after `node`: before the next one, or at the end of the document. */
function endOfSection(outline: Outline, node: Outline['sections'][number]): number {
  const next = outline.sections[outline.sections.indexOf(node) + 1];
  return next ? startOfSection(outline, next) : outline.text.length;
}

function intoInlineTable(
  { text, tokens }: Outline,
  table: AST.TOMLInlineTable,
  rest: KeyPath,
  literal: string,
): readonly Splice[] {
  const item = inlineItem(table, rest, literal);
  const last = table.body.at(-1);
  if (!last) {
    const at = table.range[0] + 1;
    return [insertion(at, ` ${item}${text[at] === '}' ? ' ' : ''}`)];
  }
  const [from, to] = [last.range[1], table.range[1]];
  const comma = tokens.find(
    ({ value, range }) => range[0] >= from && range[0] < to && value === ',',
  );
  const breakAt = lineBreak(text, comma ? comma.range[1] : from);
  const indent = text.slice(lineStart(text, last.range[0]), last.range[0]);
  if (breakAt < to && indent.trim() === '') {
    const line = eolNear(text, breakAt) + indent + item;
    if (comma) return [insertion(breakAt, `${line},`)];
    return [insertion(from, ','), insertion(breakAt, line)];
  }
  return [comma ? insertion(comma.range[1], ` ${item},`) : insertion(from, `, ${item}`)];
}

/** Parents of the key that are missing become inline tables, unless dotted keys make them already. */
function inlineItem(table: AST.TOMLInlineTable, rest: KeyPath, literal: string): string {
  const [first = '', ...deeper] = rest;
  const isDotted = table.body.some(({ key }) => namesOf(key)[0] === first);
  if (deeper.length === 0 || isDotted) return `${dottedKey(rest)} = ${literal}`;
  return `${keyText(first)} = ${deeper.reduceRight(
    (value, name) => `{ ${keyText(name)} = ${value} }`,
    literal,
  )}`;
}
