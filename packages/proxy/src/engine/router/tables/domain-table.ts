import { unicodeName } from '@weir/io/addresses';
import type { Hits } from '../conditions.ts';
import { type DomainList, type NameList, normalizeName } from './domain-list.ts';
import { packLists } from './packing.ts';
import { KeywordTable, type KeywordTableData } from './keyword-table.ts';
import type { RegexSet } from './regex-set.ts';

/** Names of one list. */
export interface NameSource {
  readonly list: number;
  readonly names: NameList;
  /** Whether an entry stands for its subdomains as well. */
  readonly suffix: boolean;
}

/** A table as plain data; see the fields of the same names. */
interface NameTableData {
  readonly slots: Uint32Array;
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint8Array;
  readonly lists: Uint32Array;
  readonly next: Uint32Array;
  readonly size: number;
}

const DOT = 0x2e;
/** The longest host name (RFC 1035 §2.3.4): a longer entry matches nothing. */
const MAX_NAME = 253;
/** The offset basis of FNV-1a. */
const HASH_SEED = 0x811c9dc5;
const HASH_PRIME = 0x01000193;

/**
 * Domain suffixes and full domains of any number of lists, in one hash table of typed arrays.
 *
 * A name is hashed from its end, so that one pass computes the hash of each suffix. Suffixes at label
 * boundaries are looked up, and the bytes of a candidate are compared. The cost depends on the length and
 * the labels of the name, not on the size of the table. An entry takes its bytes and about 20 more.
 */
export class NameTable {
  /** Open addressing, at most half full: the entry plus one, or 0 for a free slot. */
  readonly #slots: Uint32Array;
  readonly #bytes: Uint8Array;
  /** Start of each entry's bytes; `#lengths` is their number. */
  readonly #starts: Uint32Array;
  readonly #lengths: Uint8Array;
  /** List of each entry, shifted left by one; the lowest bit is set for a suffix. */
  readonly #lists: Uint32Array;
  /** One more than the next entry of the same name, by entry; 0 for none. */
  readonly #next: Uint32Array;
  #size = 0;

  /** @param sources the names, or the data of a table */
  constructor(sources: readonly NameSource[] | NameTableData) {
    if ('slots' in sources) {
      this.#slots = sources.slots;
      this.#bytes = sources.bytes;
      this.#starts = sources.starts;
      this.#lengths = sources.lengths;
      this.#lists = sources.lists;
      this.#next = sources.next;
      this.#size = sources.size;
      return;
    }
    let count = 0;
    let length = 0;
    for (const { names } of sources) {
      count += names.ends.length;
      length += names.bytes.length;
    }
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(count, 4)) + 1));
    this.#bytes = new Uint8Array(length);
    this.#starts = new Uint32Array(count);
    this.#lengths = new Uint8Array(count);
    this.#lists = new Uint32Array(count);
    this.#next = new Uint32Array(count);
    let used = 0;
    for (const source of sources) used = this.#addAll(source, used);
  }

  get data(): NameTableData {
    return {
      slots: this.#slots,
      bytes: this.#bytes,
      starts: this.#starts,
      lengths: this.#lengths,
      lists: this.#lists,
      next: this.#next,
      size: this.#size,
    };
  }

  /** Number of distinct entries. */
  get size(): number {
    return this.#size;
  }

  /** Adds the lists with the name in the first `length` bytes, or with a parent of it as a suffix. */
  match(name: Uint8Array, length: number, hits: Hits): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let hash = HASH_SEED;
    for (let at = length - 1; at >= 0; at--) {
      hash = Math.imul(hash ^ (name[at] ?? 0), HASH_PRIME);
      if (at > 0 && name[at - 1] !== DOT) continue;
      // Most parents of a name are in no list, and most of those hash to a free slot.
      if (slots[slotOf(hash) & mask] === 0) continue;
      let entry = slots[this.#find(name, at, length - at, hash)] ?? 0;
      for (; entry !== 0; entry = this.#next[entry - 1] ?? 0) {
        const list = this.#lists[entry - 1] ?? 0;
        if (at === 0 || (list & 1) === 1) hits.add(list >>> 1);
      }
    }
  }

  /** Appends the names to the bytes of the table, of which `used` are in use; returns the new number in use. */
  #addAll({ list, names, suffix }: NameSource, used: number): number {
    const { bytes, ends } = names;
    const own = this.#bytes;
    const tagged = (list << 1) | (suffix ? 1 : 0);
    let start = 0;
    for (const end of ends) {
      const length = end - start;
      if (length > 0 && length <= MAX_NAME) {
        let hash = HASH_SEED;
        for (let at = length - 1; at >= 0; at--) {
          const byte = bytes[start + at] ?? 0;
          own[used + at] = byte;
          hash = Math.imul(hash ^ byte, HASH_PRIME);
        }
        if (this.#add(used, length, hash, tagged)) used += length;
      }
      start = end;
    }
    return used;
  }

  /** Adds the name that was written at `start`; returns whether its bytes are needed there. */
  #add(start: number, length: number, hash: number, list: number): boolean {
    const slot = this.#find(this.#bytes, start, length, hash);
    const twin = this.#slots[slot] ?? 0;
    if (twin !== 0 && this.#lists[twin - 1] === list) return false;
    const entry = this.#size++;
    this.#starts[entry] = twin === 0 ? start : (this.#starts[twin - 1] ?? 0);
    this.#lengths[entry] = length;
    this.#lists[entry] = list;
    this.#next[entry] = twin;
    this.#slots[slot] = entry + 1;
    return twin === 0;
  }

  /** Returns the slot of this name, or the free slot for it. */
  #find(name: Uint8Array, start: number, length: number, hash: number): number {
    const slots = this.#slots;
    const bytes = this.#bytes;
    const mask = slots.length - 1;
    for (let slot = slotOf(hash) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot] ?? 0;
      if (entry === 0) return slot;
      if (this.#lengths[entry - 1] !== length) continue;
      const from = this.#starts[entry - 1] ?? 0;
      let same = 0;
      while (same < length && bytes[from + same] === name[start + same]) same++;
      if (same === length) return slot;
    }
  }
}

/**
 * Returns the slot of a hash, with its high bits mixed in: the low bits of FNV-1a distribute names badly that differ at
 * one end.
 */
const slotOf = (hash: number): number => hash ^ (hash >>> 15);

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
