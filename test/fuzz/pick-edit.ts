import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { parse as parseBySmol, TomlDate, TomlError as SmolError } from 'smol-toml';
import type { AST } from 'toml-eslint-parser';
import { editPick, removePick } from '@weir/config/edit/pick-editor';
import { ConfigError } from '@weir/config';
import { TomlError } from '@weir/config/toml';
import type { Node } from '@weir/proxy/schema';
import { loadProtocols } from '@weir/proxy/protocols';
import { type KeyPath, outlineOf, samePath } from '../../packages/config/src/edit/outline.ts';
import { parseSyntax, parseToml } from '../../packages/config/src/toml/parse.ts';
import { commentsWithout, ownedComments } from './comment-owners.ts';
import type { PickCase } from './toml-documents.ts';

// Errors show lines of the document.
await loadProtocols();

const BOM = '\u{feff}';

/**
 * A document as plain maps and values, by either parser. What is not a table, an array or a string
 * is only compared, never looked into.
 */
type Value = string | Value[] | Map<string, Value> | { readonly other: unknown };

function bySmol(text: string): Value {
  return fromSmol(parseBySmol(text, { integersAsBigInt: true }));
}

function fromSmol(value: unknown): Value {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(fromSmol);
  if (typeof value !== 'object' || value === null || value instanceof TomlDate) {
    return { other: value instanceof TomlDate ? value.toISOString() : value };
  }
  return new Map(Object.entries(value).map(([key, part]) => [key, fromSmol(part)]));
}

function fromNode(node: Node): Value {
  switch (node.kind) {
    case 'string':
      return node.value;
    case 'array':
      return node.items.map(fromNode);
    case 'table':
      return new Map(Array.from(node.entries, ([key, { value }]) => [key, fromNode(value)]));
    case 'integer':
    case 'float':
    case 'boolean':
    case 'datetime':
      return { other: node.value };
    default:
      return node satisfies never;
  }
}

const byEslint = (text: string): Value => fromNode(parseToml(text));

/** What must come of the edit, by the data alone: the new data, or why it is refused. */
function expected(
  data: Value,
  path: readonly string[],
  value: string,
): { readonly data: Value } | { readonly refused: RegExp } {
  const [name = '', ...rest] = path;
  if (!(data instanceof Map)) return { refused: /is not a table$/ };
  const present = data.get(name);
  if (rest.length === 0) return { data: new Map(data).set(name, value) };
  const below = expected(present ?? new Map<string, Value>(), rest, value);
  return 'refused' in below ? below : { data: new Map(data).set(name, below.data) };
}

export interface Outcome {
  readonly kind: 'refused' | 'unchanged' | 'replaced' | 'added';
}

/**
 * Edits one document and compares the result with it: both parsers see the old data and the pick,
 * and nothing but the pick's own characters has changed.
 */
export function checkPickEdit(given: PickCase): Outcome {
  const { text, subscribe, group, target } = given;
  const path = subscribe ? ['subscribe', 'routes', group] : ['route', group];
  const before = text.startsWith(BOM) ? text.slice(1) : text;
  const want = expected(byEslint(before), path, target);
  let after: string;
  try {
    const edited = editPick(Buffer.from(text), { subscribe }, group, target);
    after = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(edited);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.kind, 'invalid');
    if ('refused' in want) assert.match(error.message, want.refused);
    // A pick that other lines make a table of is refused, one that is an inline table replaced.
    else assert.match(error.message, /is a table, not a name$/);
    return { kind: 'refused' };
  }
  assert.ok('data' in want, 'should have been refused');
  assert.equal(after.startsWith(BOM), text.startsWith(BOM));
  if (after.startsWith(BOM)) after = after.slice(1);
  assert.deepEqual(byEslint(after), want.data, 'as toml-eslint-parser reads it');
  const wantBySmol = expected(bySmol(before), path, target);
  assert.ok('data' in wantBySmol);
  assert.deepEqual(bySmol(after), wantBySmol.data, 'as smol-toml reads it');
  const kind = checkText(before, after);
  checkAgain(given, Buffer.from(after));
  if (kind === 'added') checkAdded(given, before, after);
  checkRemoval(given, after);
  return { kind };
}

const pathOf = ({ subscribe, group }: PickCase): readonly string[] =>
  subscribe ? ['subscribe', 'routes', group] : ['route', group];

/** Every comment stays beside what it stood beside, and a removal of the pick leaves no trace of it. */
function checkAdded(given: PickCase, before: string, after: string): void {
  const path = pathOf(given);
  const [old, now] = [outlineOf(before, path), outlineOf(after, path)];
  const isNew = (
    { path }: { readonly path: KeyPath },
    among: readonly { readonly path: KeyPath }[],
  ): boolean => !among.some((each) => samePath(each.path, path));
  const added = [
    ...now.headers
      .filter((header) => isNew(header, old.headers))
      .map(({ span, key }) => ({ start: span.start, end: key.end })),
    ...now.entries.filter((entry) => isNew(entry, old.entries)).map(({ node }) => node.span),
  ];
  assert.deepEqual(ownedComments(after, added), ownedComments(before, []));
  const pick = now.entries.find((entry) => samePath(entry.path, path))?.node;
  // Braces that were empty do not say which white space was in them.
  const isAlone = now.entries.some(({ node: { table } }) => {
    const [only, ...others] = table?.body ?? [];
    return only === pick && others.length === 0;
  });
  if (added.length === 1 && !isAlone) assert.equal(withoutPick(given, after), before, 'no trace');
}

/** The pick goes, and every comment but those on its line stays beside what it stood beside. */
function checkRemoval(given: PickCase, text: string): void {
  const path = pathOf(given);
  const entry = outlineOf(text, path).entries.find((each) => samePath(each.path, path));
  assert.ok(entry);
  const without = withoutPick(given, text);
  assert.equal(
    outlineOf(without, path).entries.some((each) => samePath(each.path, path)),
    false,
  );
  const comments = ownedComments(text, [entry.node.span]);
  assert.deepEqual(ownedComments(without, []), commentsWithout(comments, 0));
  assert.deepEqual(bySmol(editedPick(given, without)), bySmol(text));
}

const withoutPick = ({ subscribe, group }: PickCase, text: string): string =>
  Buffer.from(removePick(Buffer.from(text), { subscribe }, group)).toString();

const editedPick = ({ subscribe, group, target }: PickCase, text: string): string =>
  Buffer.from(editPick(Buffer.from(text), { subscribe }, group, target)).toString();

/**
 * Edits bytes that may be anything: a ConfigError reports what is wrong with them, or they hold the pick
 * and nothing else has changed.
 */
export function checkBrokenDocument(bytes: Uint8Array): Outcome['kind'] {
  const text = Buffer.from(bytes).toString();
  const given = { text, subscribe: true, group: 'a', target: 'x' };
  if (isUtf8(bytes) && isTomlToBoth(text.replace(/^\u{feff}/u, '')))
    return checkPickEdit(given).kind;
  try {
    editPick(bytes, given, given.group, given.target);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return 'refused';
  }
  // Numbers beyond 64 bits and whatever else only one parser accepts: the check after the edit sees them.
  return 'unchanged';
}

function isTomlToBoth(text: string): boolean {
  try {
    byEslint(text);
    bySmol(text);
    return true;
  } catch (error) {
    if (error instanceof TomlError || error instanceof SmolError) return false;
    throw error;
  }
}

/** Only one value was replaced, or only one key added, with at most a header and a comma. */
function checkText(before: string, after: string): Outcome['kind'] {
  if (before === after) return 'unchanged';
  const old = tokensOf(before);
  const now = tokensOf(after);
  let start = 0;
  while (start < old.length && same(old[start], now[start])) start += 1;
  let end = 0;
  while (end < old.length - start && same(old.at(-1 - end), now.at(-1 - end))) end += 1;
  const removed = old.slice(start, old.length - end);
  const added = now.slice(start, now.length - end);
  const first = removed[0];
  const last = removed.at(-1);
  if (first && last) {
    const literal = added.map((token) => token.value).join('');
    assert.equal(added.length, 1, 'one literal stands for the old value');
    const rest = [before.slice(0, first.range[0]), before.slice(last.range[1])];
    assert.equal(after, rest.join(literal), 'everything around the value is as it was');
    return 'replaced';
  }
  assert.deepEqual(commentsOf(after), commentsOf(before), 'comments');
  checkInsertion(before, after);
  return 'added';
}

/** `after` is `before` with one insertion; a comma may stand apart, before the end of its line. */
function checkInsertion(before: string, after: string): void {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  assert.ok(removed === '' || added.startsWith(`,${removed}`), JSON.stringify({ removed, added }));
  const eol = before.includes('\n') ? /\r?\n/.exec(before)?.[0] : '\n';
  if (!/(?<!\r)\n/.test(before))
    assert.ok(!/(?<!\r)\n/.test(added) || eol === '\n', 'CRLF is kept');
  else if (!before.includes('\r')) assert.ok(!added.includes('\r'), 'LF is kept');
  assert.equal(after.endsWith('\n'), before === '' || before.endsWith('\n'), 'final line break');
}

/** The same edit changes nothing more, and one over another is as if the other had not been. */
function checkAgain({ text, subscribe, group, target }: PickCase, after: Uint8Array): void {
  assert.deepEqual(Buffer.from(editPick(after, { subscribe }, group, target)), after, 'twice');
  const other = Buffer.from(editPick(after, { subscribe }, group, 'other'));
  const unmarked = Buffer.from(text.startsWith(BOM) ? text.slice(1) : text);
  assert.deepEqual(other, Buffer.from(editPick(unmarked, { subscribe }, group, 'other')), 'over');
}

const tokensOf = (text: string): readonly AST.Token[] =>
  [...parseSyntax(text)].flatMap(({ program, base }) =>
    program.tokens.map((token) => {
      const [start, end] = token.range;
      return { ...token, range: [base + start, base + end] };
    }),
  );

const commentsOf = (text: string): readonly string[] =>
  [...parseSyntax(text)].flatMap(({ program }) => program.comments.map(({ value }) => value));

const same = (a: AST.Token | undefined, b: AST.Token | undefined): boolean =>
  a?.type === b?.type && a?.value === b?.value;
