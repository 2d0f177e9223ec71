import type { SourceText } from '../../sources/source-text.ts';
import type { OpenArray, OpenNode, OpenTable } from '../../toml/tree.ts';
import { inDocument } from '../edit-text.ts';
import { parseToml } from '../../toml/parse.ts';
import {
  splice,
  type Splice,
  basicString,
  keyText,
  insertion,
  dottedKey,
  endsLine,
  eolNear,
  indentAt,
  nextLine,
} from '../toml-text.ts';
import {
  appendToArray,
  labelInArray,
  removeFromArray,
  intoBraces,
  pairPlaces,
  placesOf,
  arrayText,
  type NewItem,
} from './array-form.ts';
import {
  appendBlock,
  labelOfBlock,
  removeBlock,
  ContentEnds,
  firstBlock,
  contentEnd,
} from './header-form.ts';
import { gapIn, type Gap } from './gap.ts';

/** A table to add: strings by their keys. */
export interface NewElement {
  readonly pairs: readonly (readonly [key: string, value: string])[];
  /** The name in a comment beside the element: see `labelComment`. */
  readonly label?: string | undefined;
}

/** A table of a list as written. */
export interface WrittenElement {
  /** The strings of the table by their keys. */
  readonly values: ReadonlyMap<string, string>;
  readonly label: string | undefined;
  /** Offset of the element's first character. */
  readonly start: number;
}

/** The array of tables that most files write as `[[inbound]]`. */
const INBOUND = 'inbound';

/** An inbound as written. */
export interface WrittenInbound {
  readonly tag: string;
  readonly protocol: string;
  /** The strings of the inbound's settings by their keys. */
  readonly settings: ReadonlyMap<string, string>;
}

/** The inbounds of a configuration file, with the lists in their settings. */
export class ConfigInbounds {
  readonly #source: SourceText;
  readonly #root: OpenTable;
  readonly #tables: readonly OpenTable[];

  /**
   * Parses a file.
   * @throws {ConfigError} when it is not TOML
   */
  constructor(source: SourceText) {
    this.#source = source;
    this.#root = inDocument(source, () => parseToml(source.text));
    this.#tables = tablesOf(this.#root.entries.get(INBOUND)?.value);
  }

  /** The inbounds in the order of the file; those without a tag or a protocol are omitted. */
  get all(): readonly WrittenInbound[] {
    return this.#tables.flatMap((table) => {
      const [tag, protocol] = [stringAt(table, 'tag'), stringAt(table, 'protocol')];
      if (tag === undefined || protocol === undefined) return [];
      const settings = table.entries.get('settings')?.value;
      return [
        { tag, protocol, settings: settings?.kind === 'table' ? stringsOf(settings) : new Map() },
      ];
    });
  }

  /**
   * Finds a list of an inbound.
   *
   * @param tag the tag of the inbound; the first inbound with this tag counts
   * @param keys the names of the list, the preferred one first
   * @returns `undefined` without such an inbound
   * @throws {ConfigError} when `settings` or the list is another kind of value
   */
  list(tag: string, keys: readonly [string, ...string[]]): InboundList | undefined {
    const inbound = this.#tables.find((table) => stringAt(table, 'tag') === tag);
    if (!inbound) return undefined;
    const wrong = (what: string, node: OpenNode): Error =>
      this.#source.error('invalid', `inbound ${JSON.stringify(tag)}: ${what}`, node.span);
    const settings = inbound.entries.get('settings')?.value;
    if (settings && settings.kind !== 'table') throw wrong('`settings` is not a table', settings);
    const key = keys.find((name) => settings?.entries.has(name)) ?? keys[0];
    const list = settings?.entries.get(key)?.value;
    if (list && list.kind !== 'array') throw wrong(`\`${key}\` is not a list`, list);
    const other = list?.items.find((item) => item.kind !== 'table');
    if (other) throw wrong(`\`${key}\` is not a list of tables`, other);
    // Other tables may be between such a header and its element. No supported list has any.
    const divided = tablesOf(list).find(hasHeaderBelow);
    if (divided) throw wrong(`an element of \`${key}\` has tables of its own`, divided);
    const style = styleIn(this.#tables, keys);
    const document = { text: this.#source.text, ends: new ContentEnds(this.#root) };
    return InboundList.in(document, inbound, key, list, style);
  }
}

interface Document {
  readonly text: string;
  readonly ends: ContentEnds;
}

/**
 * A list in `settings` of an inbound, as in `[[inbound.settings.users]]` or `users = [{ … }]`. Edits return the whole
 * text, in which only the element, and the comma that it needs, is changed.
 */
export class InboundList {
  readonly #text: string;
  readonly #ends: ContentEnds;
  readonly #inbound: OpenTable;
  readonly #array: OpenArray | undefined;
  readonly #style: ListStyle;
  /** The key of the list, existing or to be created. */
  readonly key: string;

  private constructor(
    { text, ends }: Document,
    inbound: OpenTable,
    key: string,
    array: OpenArray | undefined,
    style: ListStyle,
  ) {
    this.#text = text;
    this.#ends = ends;
    this.#inbound = inbound;
    this.key = key;
    this.#array = array;
    this.#style = style;
  }

  /**
   * Finds the list of an inbound.
   * @internal of a ConfigInbounds
   */
  static in(
    document: Document,
    inbound: OpenTable,
    key: string,
    array: OpenArray | undefined,
    style: ListStyle,
  ): InboundList {
    return new InboundList(document, inbound, key, array, style);
  }

  /** The elements in their order. Takes linear time. */
  get elements(): readonly WrittenElement[] {
    const list = this.#array;
    const places = list?.madeBy === 'key' ? placesOf(list) : undefined;
    return tablesOf(list).map((table, index) => {
      const label = places
        ? labelInArray(this.#text, places, index)
        : labelOfBlock(this.#text, table, this.#gapAbove(table));
      return { values: stringsOf(table), label, start: table.span.start };
    });
  }

  /** Adds an element at the end; creates the list if it is missing. */
  append({ pairs, label }: NewElement): string {
    const list = this.#array;
    const last = tablesOf(list).at(-1);
    if (list?.madeBy === 'header' && last) {
      const lines = pairs.map(([key, value]) => `${keyText(key)} = ${basicString(value)}`);
      return this.#with(appendBlock(this.#text, last, this.#gapAbove(last), { lines, label }));
    }
    if (list) {
      const item = inlineItem(pairs, last && isTight(this.#text, last));
      return this.#with(appendToArray(this.#text, placesOf(list), { item, label }));
    }
    const made = createList(this.#text, this.#inbound, this.key, this.#style, {
      item: inlineItem(pairs),
      pairs,
      label,
    });
    return this.#with(made);
  }

  /**
   * Removes an element.
   * @throws {RangeError} if there is no such element
   */
  remove(index: number): string {
    const list = this.#array;
    const table = tablesOf(list)[index];
    if (!list || !table) throw new RangeError(`the list has no element ${index}`);
    return this.#with(
      list.madeBy === 'header'
        ? removeBlock(this.#text, table, this.#gapAbove(table))
        : removeFromArray(this.#text, placesOf(list), index),
    );
  }

  /** Replaces one value of an element. @throws {RangeError} if the element lacks the key */
  set(index: number, key: string, value: string): string {
    const node = tablesOf(this.#array)[index]?.entries.get(key)?.value;
    if (!node) throw new RangeError(`element ${index} has no key ${key}`);
    const { start, end } = node.span;
    return this.#with([{ at: start, remove: end - start, insert: basicString(value) }]);
  }

  /** Returns the text between the header of an element and the content before it. */
  #gapAbove({ span: { start } }: OpenTable): Gap {
    return gapIn(this.#text, { start: this.#ends.before(start), end: start });
  }

  #with(splices: readonly Splice[]): string {
    return splice(this.#text, splices);
  }
}

const tablesOf = (node: OpenNode | undefined): readonly OpenTable[] =>
  node?.kind === 'array' ? node.items.filter((item) => item.kind === 'table') : [];

const hasHeaderBelow = ({ entries }: OpenTable): boolean =>
  [...entries.values()].some(({ value }) => 'madeBy' in value && value.madeBy === 'header');

function stringAt(table: OpenTable, key: string): string | undefined {
  const node = table.entries.get(key)?.value;
  return node?.kind === 'string' ? node.value : undefined;
}

function stringsOf(table: OpenTable): ReadonlyMap<string, string> {
  const strings = new Map<string, string>();
  for (const [key, { value }] of table.entries) {
    if (value.kind === 'string') strings.set(key, value.value);
  }
  return strings;
}

/** Whether an inline table is written without spaces inside its braces. */
const isTight = (text: string, { span }: OpenTable): boolean =>
  text[span.start] === '{' && !' \t\r\n'.includes(text[span.start + 1] ?? '');

function inlineItem(pairs: NewElement['pairs'], tight = false): string {
  const equals = tight ? '=' : ' = ';
  const body = pairs.map(([key, value]) => keyText(key) + equals + basicString(value));
  return tight ? `{${body.join(',')}}` : `{ ${body.join(', ')} }`;
}

/** Returns the style in which the file writes other lists of that name; `undefined` if it has none. */
function styleIn(inbounds: readonly OpenTable[], keys: readonly string[]): ListStyle {
  for (const inbound of inbounds.toReversed()) {
    const settings = inbound.entries.get('settings')?.value;
    if (settings?.kind !== 'table') continue;
    for (const key of keys) {
      const list = settings.entries.get(key)?.value;
      if (list?.kind === 'array') return list.madeBy === 'header' ? 'headers' : 'array';
    }
  }
  return undefined;
}

/** The style in which a file writes such lists: `[[…]]` headers, or a key with an array. */
type ListStyle = 'headers' | 'array' | undefined;

/** The first element of a list. */
interface FirstElement extends NewItem {
  readonly pairs: readonly (readonly [key: string, value: string])[];
}

const SETTINGS = 'settings';

/** Creates the list `settings.<key>` of an inbound, in the form that TOML allows there and the file uses. */
function createList(
  text: string,
  inbound: OpenTable,
  key: string,
  style: ListStyle,
  first: FirstElement,
): readonly Splice[] {
  const settings = inbound.entries.get(SETTINGS)?.value;
  if (settings?.kind === 'table') {
    if (settings.madeBy === 'braces') {
      return intoTable(text, settings, keyText(key), first);
    }
    if (settings.madeBy === 'key') return afterDotted(text, inbound, settings, key, first);
    if (settings.isDefined && style !== 'headers') {
      return afterKeys(text, settings, keyText(key), first);
    }
  }
  if (inbound.madeBy === 'braces') {
    return intoTable(text, inbound, `${SETTINGS}.${keyText(key)}`, first);
  }
  return withHeader(text, inbound, key, first);
}

/** Creates the list below all keys of the inbound, as `[[inbound.settings.users]]`. */
function withHeader(
  text: string,
  inbound: OpenTable,
  key: string,
  { pairs, label }: FirstElement,
): readonly Splice[] {
  const [array] = text.slice(inbound.span.start, inbound.span.end).split(']');
  const name = array?.slice(array.lastIndexOf('[') + 1).trim() ?? '';
  const block = {
    header: `[[${name}.${dottedKey([SETTINGS, key])}]]`,
    lines: pairs.map(([name, value]) => `${keyText(name)} = ${basicString(value)}`),
    label,
  };
  return firstBlock(text, contentEnd(inbound), block, indentAt(text, inbound.span.start));
}

/** Creates the list after the last key of `[inbound.settings]`, before its subtables. */
function afterKeys(
  text: string,
  settings: OpenTable,
  name: string,
  first: FirstElement,
): readonly Splice[] {
  let last = settings.span;
  for (const { key, value } of settings.entries.values()) {
    const isBelow = (value.kind === 'table' || value.kind === 'array') && value.madeBy === 'header';
    const end = contentEnd(value);
    if (!isBelow && end > last.end) last = { start: key.start, end };
  }
  return lineAfter(text, last, name, first);
}

/** Creates the list after the last `settings.… = …` of the inbound. */
function afterDotted(
  text: string,
  inbound: OpenTable,
  settings: OpenTable,
  key: string,
  first: FirstElement,
): readonly Splice[] {
  const name = `${SETTINGS}.${keyText(key)}`;
  if (inbound.madeBy === 'braces') return intoTable(text, inbound, name, first);
  let last = inbound.span;
  for (const entry of settings.entries.values()) {
    const end = contentEnd(entry.value);
    if (end > last.end) last = { start: entry.key.start, end };
  }
  return lineAfter(text, last, name, first);
}

function lineAfter(
  text: string,
  neighbour: { readonly start: number; readonly end: number },
  name: string,
  first: FirstElement,
): readonly Splice[] {
  const at = nextLine(text, neighbour.end);
  const eol = eolNear(text, at);
  const indent = indentAt(text, neighbour.start);
  const line = `${indent}${name} = ${arrayText(first, indent, eol)}`;
  return [insertion(at, endsLine(text, at) ? line + eol : eol + line)];
}

/** Creates the list in an inline table. */
function intoTable(
  text: string,
  table: OpenTable,
  name: string,
  first: FirstElement,
): readonly Splice[] {
  const { span } = table;
  const indent = indentAt(text, span.start);
  const list =
    first.label === undefined
      ? `[${first.item}]`
      : arrayText(first, indent, eolNear(text, span.start));
  return intoBraces(text, pairPlaces(table), `${name} = ${list}`);
}
