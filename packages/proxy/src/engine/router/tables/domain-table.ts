import { packLists } from './pack-lists.ts';
import { unicodeName } from '@weir/io/addresses';
import { type DomainList, normalizeName } from './domain-list.ts';
import type { Hits } from '../conditions.ts';
import { KeywordTable, type KeywordTableData } from './keyword-table.ts';
import { NameTable, type NameSource, type NameTableData } from './name-table.ts';
import type { RegexSet } from './regex-set.ts';

/** Names up to this length in bytes are written to a shared buffer; longer ones get a buffer of their own. */
const SCRATCH_SIZE = 256;

/** All domain lists of a router as plain data; patterns are not compiled. */
export interface DomainTableData {
  /** Number of lists. */
  readonly lists: number;
  readonly names: NameTableData;
  readonly keywords: KeywordTableData | undefined;
  /** Lists with an empty keyword, which occurs in every name. */
  readonly always: readonly number[];
  readonly patterns: readonly string[];
  /** End of each pattern's lists in `patternLists`; they start where those of the previous one end. */
  readonly patternEnds: Uint32Array;
  readonly patternLists: Uint32Array;
}

/** Prefix of a label that encodes characters beyond ASCII (RFC 5890 §2.3.2.5). */
const ACE_PREFIX = 'xn--';

/** Returns a keyword in the form of a name in Unicode: UTS 46 maps case and compatibility characters. */
const keywordForm = (text: string): string => text.normalize('NFKC').toLowerCase();

/** Builds the tables of these lists, which are numbered by position. */
export function collectDomains(lists: readonly DomainList[]): DomainTableData {
  const names: NameSource[] = [];
  const keywords = new Map<string, number[]>();
  const patterns = new Map<string, number[]>();
  lists.forEach(({ suffix, full, keyword, regex }, list) => {
    names.push({ list, names: suffix, suffix: true }, { list, names: full, suffix: false });
    for (const text of keyword) append(keywords, keywordForm(text), list);
    for (const pattern of regex) append(patterns, pattern, list);
  });
  const always = keywords.get('') ?? [];
  keywords.delete('');
  const { items: patternLists, ends: patternEnds } = packLists(patterns.values());
  const words = Array.from(keywords, ([text, lists]) => ({ bytes: Buffer.from(text), lists }));
  return {
    lists: lists.length,
    names: new NameTable(names).data,
    keywords: words.length === 0 ? undefined : new KeywordTable(words).data,
    always,
    patterns: [...patterns.keys()],
    patternEnds,
    patternLists,
  };
}

/** All domain lists of a router: one lookup returns every list that a name is in. */
export class DomainTable {
  readonly #names: NameTable;
  readonly #keywords: KeywordTable | undefined;
  readonly #regexes: RegexSet | undefined;
  /** End of each pattern's lists, by position in `#regexes`. */
  readonly #patternEnds: Uint32Array;
  readonly #patternLists: Uint32Array;
  readonly #always: readonly number[];
  readonly #scratch = new Uint8Array(SCRATCH_SIZE);

  /** @param regexes the compiled patterns; `undefined` when there are none */
  constructor(
    { names, keywords, always, patternEnds, patternLists }: DomainTableData,
    regexes: RegexSet | undefined,
  ) {
    this.#names = new NameTable(names);
    this.#keywords = keywords && new KeywordTable(keywords);
    this.#always = always;
    this.#patternEnds = patternEnds;
    this.#patternLists = patternLists;
    this.#regexes = regexes;
  }

  /** Adds the lists that a name is in. Case and a trailing dot are ignored. */
  match(host: string, hits: Hits): void {
    const name = normalizeName(host);
    const scratch = this.#scratch;
    let length = name.length <= SCRATCH_SIZE ? name.length : -1;
    for (let at = 0; at < length; at++) {
      const code = name.charCodeAt(at);
      if (code > 0x7f) length = -1;
      scratch[at] = code;
    }
    if (length >= 0) {
      this.#matchBytes(scratch, length, hits);
    } else {
      const bytes = Buffer.from(name);
      this.#matchBytes(bytes, bytes.length, hits);
    }
    for (const list of this.#always) hits.add(list);
    this.#matchPatterns(name, hits);
    if (name.includes(ACE_PREFIX)) this.#matchUnicode(name, hits);
  }

  #matchBytes(bytes: Uint8Array, length: number, hits: Hits): void {
    this.#names.match(bytes, length, hits);
    this.#keywords?.match(bytes, length, hits);
  }

  #matchPatterns(name: string, hits: Hits): void {
    for (const pattern of this.#regexes?.matches(name) ?? []) {
      const last = this.#patternEnds[pattern] ?? 0;
      for (let i = this.#patternEnds[pattern - 1] ?? 0; i < last; i++) {
        hits.add(this.#patternLists[i] ?? 0);
      }
    }
  }

  /** Matches keywords and patterns in Unicode as well, since parts of a name have no ASCII form of their own. */
  #matchUnicode(name: string, hits: Hits): void {
    if (!this.#keywords && !this.#regexes) return;
    const letters = unicodeName(name);
    if (letters === '' || letters === name) return;
    const bytes = Buffer.from(letters);
    this.#keywords?.match(bytes, bytes.length, hits);
    this.#matchPatterns(letters, hits);
  }
}

function append(lists: Map<string, number[]>, key: string, list: number): void {
  const found = lists.get(key);
  if (!found) lists.set(key, [list]);
  else if (found.at(-1) !== list) found.push(list);
}
