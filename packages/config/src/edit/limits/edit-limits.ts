import { quoted } from '@weir/base/printable';
import { OTHER_ACCOUNTS } from '../../limits/limits-file.ts';
import type { SourceText } from '../../sources/source-text.ts';
import { parseToml } from '../../toml/parse.ts';
import type { OpenArray, OpenTable } from '../../toml/tree.ts';
import { inDocument } from '../edit-text.ts';
import {
  appendToArray,
  intoBraces,
  pairPlaces,
  placesOf,
  removeFromArray,
} from '../lists/array-form.ts';
import { gapIn, type Gap } from '../lists/gap.ts';
import {
  appendBlock,
  ContentEnds,
  contentEnd,
  firstBlock,
  removeBlock,
} from '../lists/header-form.ts';
import {
  basicString,
  endsLine,
  eolNear,
  indentAt,
  insertion,
  nextLine,
  splice,
  type Splice,
} from '../toml-text.ts';
import { UserError } from '../users/edit-users.ts';

/** The keys of a limit; texts are written as strings. */
export interface LimitKeys {
  readonly bytes?: string | undefined;
  readonly reset?: string | undefined;
  readonly until?: string | undefined;
  readonly devices?: number | undefined;
  readonly up?: string | undefined;
  readonly down?: string | undefined;
}

/** The array of tables of a limits file. */
const LIST = 'limit';

/** A limits file as parsed. */
interface LimitsDocument {
  readonly text: string;
  readonly root: OpenTable;
  readonly list: OpenArray | undefined;
  readonly tables: readonly OpenTable[];
}

/**
 * Gives an account limits: changes the keys of its entry, or adds an entry at the end. Keys that are not given stay, and
 * so does every other character.
 *
 * @throws {ConfigError} when the file is not TOML
 * @throws {UserError} `shared_limit` when its entry is that of other accounts too, `all_accounts` for the name that
 * stands for all of them
 */
export function setLimit(source: SourceText, user: string, keys: LimitKeys): string {
  if (user === OTHER_ACCOUNTS) {
    const message = `${quoted(user)} stands for all accounts in a limits file`;
    throw new UserError('all_accounts', message, { hint: 'give the user another name' });
  }
  const document = open(source);
  const pairs = pairsOf(keys);
  const own = document.tables.find((table) => isOf(table, user));
  if (own) return splice(document.text, keyChanges(document.text, own, pairs));
  if (document.tables.some((table) => usersOf(table).includes(user))) {
    const message = `the limits of ${quoted(user)} are in one entry with those of others`;
    throw new UserError('shared_limit', message, { hint: 'give it an entry of its own first' });
  }
  return splice(document.text, addition(document, [['user', basicString(user)], ...pairs]));
}

/**
 * Removes the limits of an account: its entry, or its name from that of several accounts. Every other character stays.
 * @returns the same text where the account has no entry
 * @throws {ConfigError} when the file is not TOML
 */
export function removeLimit(source: SourceText, user: string): string {
  const document = open(source);
  const { text, list, tables } = document;
  if (user === OTHER_ACCOUNTS) return text;
  const index = tables.findIndex((table) => isOf(table, user) || usersOf(table).includes(user));
  const table = tables[index];
  if (!list || !table) return text;
  const users = table.entries.get('users')?.value;
  if (!isOf(table, user) && users?.kind === 'array') {
    return splice(text, removeFromArray(text, placesOf(users), usersOf(table).indexOf(user)));
  }
  return splice(
    text,
    list.madeBy === 'header'
      ? removeBlock(text, table, gapAbove(document, table))
      : removeFromArray(text, placesOf(list), index),
  );
}

function open(source: SourceText): LimitsDocument {
  const { text } = source;
  const root = inDocument(source, () => parseToml(text));
  const found = root.entries.get(LIST)?.value;
  const list = found?.kind === 'array' ? found : undefined;
  const tables = (list?.items ?? []).filter((item) => item.kind === 'table');
  if (found && tables.length !== list?.items.length) {
    throw source.error('invalid', `\`${LIST}\` is not a list of tables`, found.span);
  }
  return { text, root, list, tables };
}

/** Whether an entry is that of an account alone. */
const isOf = (table: OpenTable, user: string): boolean => {
  const names = usersOf(table);
  return names.length === 1 && names[0] === user;
};

/** The accounts of an entry; '' for what is no name, at its place in the list. */
function usersOf({ entries }: OpenTable): readonly string[] {
  const [user, users] = [entries.get('user')?.value, entries.get('users')?.value];
  if (user?.kind === 'string') return [user.value];
  if (users?.kind !== 'array') return [];
  return users.items.map((item) => (item.kind === 'string' ? item.value : ''));
}

type Pair = readonly [key: string, value: string];

const pairsOf = ({ bytes, reset, until, devices, up, down }: LimitKeys): readonly Pair[] =>
  Object.entries({ bytes, reset, until, devices, up, down }).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [[key, typeof value === 'number' ? String(value) : basicString(value)] as const],
  );

/** Replaces values of a table, and adds the missing keys after the last one. */
function keyChanges(text: string, table: OpenTable, pairs: readonly Pair[]): readonly Splice[] {
  const changes: Splice[] = [];
  const added: string[] = [];
  for (const [key, value] of pairs) {
    const node = table.entries.get(key)?.value;
    if (!node) added.push(`${key} = ${value}`);
    else {
      const { start, end } = node.span;
      changes.push({ at: start, remove: end - start, insert: value });
    }
  }
  if (added.length > 0) changes.push(...keyAdditions(text, table, added));
  return changes.toSorted((a, b) => a.at - b.at);
}

function keyAdditions(text: string, table: OpenTable, lines: readonly string[]): readonly Splice[] {
  const places = pairPlaces(table);
  if (table.madeBy === 'braces') return intoBraces(text, places, lines.join(', '));
  const last = places.items.at(-1) ?? table.span;
  const at = nextLine(text, contentEnd(table));
  const eol = eolNear(text, at);
  const indent = indentAt(text, last.start);
  const block = lines.map((line) => indent + line).join(eol);
  return [insertion(at, endsLine(text, at) ? block + eol : eol + block)];
}

/** Adds an entry at the end, in the form that the file uses. */
function addition(document: LimitsDocument, pairs: readonly Pair[]): readonly Splice[] {
  const { text, list, tables } = document;
  const lines = pairs.map(([key, value]) => `${key} = ${value}`);
  const last = tables.at(-1);
  if (list?.madeBy === 'key') {
    return appendToArray(text, placesOf(list), { item: `{ ${lines.join(', ')} }` });
  }
  const header = `[[${LIST}]]`;
  // A single entry shows no layout.
  if (last && tables.length === 1) return firstBlock(text, contentEnd(last), { header, lines }, '');
  if (last) return appendBlock(text, last, gapAbove(document, last), { lines });
  if (text.trim() === '') return [insertion(text.length, `${[header, ...lines].join('\n')}\n`)];
  return firstBlock(text, text.length, { header, lines }, '');
}

/** The text between a table and the content before it. */
const gapAbove = ({ text, root }: LimitsDocument, { span: { start } }: OpenTable): Gap =>
  gapIn(text, { start: new ContentEnds(root).before(start), end: start });
