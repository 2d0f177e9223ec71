import { normalizeHost } from '@weir/io/addresses';

/**
 * Names in one buffer: their UTF-8 bytes one after the other, and the end of each.
 *
 * A JavaScript string takes 20 to 40 bytes in addition to its text, too much for a list of a million domains.
 */
export interface NameList {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

/** Characters beyond ASCII: a name with any has to be converted. */
const INTERNATIONAL = /[\u0080-\uffff]/;

/**
 * Returns a domain in the form that matchers compare: lower case, ASCII (UTS 46), without the trailing dot. Text that
 * cannot be converted is not a host name, and is only lower-cased.
 */
export function normalizeName(name: string): string {
  const lower = name.toLowerCase();
  const bare = lower.endsWith('.') ? lower.slice(0, -1) : lower;
  return INTERNATIONAL.test(bare) ? (normalizeHost(bare) ?? bare) : bare;
}

/**
 * Packs the entries of a suffix or full list. Entries that cannot match any name are omitted: empty ones, and
 * ones with a leading dot.
 */
export function packNames(names: readonly string[]): NameList {
  const wanted: string[] = [];
  for (const name of names) {
    const normal = normalizeName(name);
    if (normal !== '' && !normal.startsWith('.')) wanted.push(normal);
  }
  const text = wanted.join('');
  const bytes = Buffer.from(text);
  const ascii = bytes.length === text.length;
  const ends = new Uint32Array(wanted.length);
  let end = 0;
  wanted.forEach((name, index) => {
    end += ascii ? name.length : Buffer.byteLength(name);
    ends[index] = end;
  });
  return { bytes, ends };
}

const DOT = 0x2e;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const TO_LOWER = 0x20;

/** Packs names one by one, given as bytes; the rules are those of `packNames`. */
export class NameListBuilder {
  #bytes = Buffer.alloc(64);
  #used = 0;
  #ends = new Uint32Array(4);
  #count = 0;

  add(name: Uint8Array): void {
    const length = name.at(-1) === DOT ? name.length - 1 : name.length;
    if (length === 0 || name[0] === DOT) return;
    this.#reserve(length);
    for (let at = 0; at < length; at++) {
      const byte = name[at] ?? 0;
      if (byte > 0x7f) {
        this.#addText(name);
        return;
      }
      this.#bytes[this.#used + at] = byte >= UPPER_A && byte <= UPPER_Z ? byte + TO_LOWER : byte;
    }
    this.#end(length);
  }

  /** Adds a name with characters beyond ASCII, which is converted as a string and may change its length. */
  #addText(name: Uint8Array): void {
    const bytes = Buffer.from(normalizeName(Buffer.from(name).toString()));
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#used);
    this.#end(bytes.length);
  }

  #reserve(length: number): void {
    while (this.#used + length > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, this.#bytes]);
    }
  }

  /** Completes the name that was written after the others. */
  #end(length: number): void {
    this.#used += length;
    if (this.#count === this.#ends.length) {
      const ends = new Uint32Array(this.#count * 2);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#ends[this.#count++] = this.#used;
  }

  build(): NameList {
    return {
      bytes: this.#bytes.subarray(0, this.#used),
      ends: this.#ends.subarray(0, this.#count),
    };
  }
}

/** The domains of one matcher: a name is in the list if any entry matches it. */
export interface DomainList {
  /** Names that match themselves and their subdomains. */
  readonly suffix: NameList;
  readonly full: NameList;
  /** Keywords in lower case. */
  readonly keyword: readonly string[];
  /** Patterns in the Rust dialect, matched against the lower-cased name. */
  readonly regex: readonly string[];
}

const NO_NAMES: NameList = packNames([]);

/** Returns a list without entries of the omitted kinds. */
export const domainList = (entries: Partial<DomainList>): DomainList => ({
  suffix: NO_NAMES,
  full: NO_NAMES,
  keyword: [],
  regex: [],
  ...entries,
});

/** Whether no name can be in the list. */
export const isEmptyDomainList = ({ suffix, full, keyword, regex }: DomainList): boolean =>
  suffix.ends.length + full.ends.length + keyword.length + regex.length === 0;
