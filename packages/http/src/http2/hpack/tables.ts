import { type HttpField, fieldSize } from '../../fields/field.ts';

/** Names and values of the static table, from index 1 (RFC 7541, appendix A). */
const ENTRIES: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** The static table; index 1 is its first entry. */
export const HPACK_STATIC_TABLE: readonly HttpField[] = ENTRIES.map(([name, value]) => ({
  name,
  value,
}));

/** A static table entry that matches the name of a field, or the whole field. */
interface StaticMatch {
  readonly index: number;
  /** Whether the value matches as well as the name. */
  readonly isWhole: boolean;
}

/** Indexes by name, then by value; the first entry of a name also serves for the name alone. */
const BY_NAME = new Map<string, Map<string, number>>();
for (const [at, [name, value]] of ENTRIES.entries()) {
  const values = BY_NAME.get(name) ?? new Map<string, number>();
  values.set(value, at + 1);
  BY_NAME.set(name, values);
}

/** Finds the entry of a field, or else the first entry with its name. */
export function findStatic(name: string, value: string): StaticMatch | undefined {
  const values = BY_NAME.get(name);
  if (!values) return undefined;
  const whole = values.get(value);
  if (whole !== undefined) return { index: whole, isWhole: true };
  const [first = 0] = values.values();
  return { index: first, isWhole: false };
}

/** The dynamic table of one direction (RFC 7541 §2.3.2, §4), limited in bytes. */
export class DynamicTable {
  /** Entries in order of insertion; those before `#evicted` are evicted. */
  #entries: HttpField[] = [];
  #evicted = 0;
  #size = 0;
  #capacity: number;
  /** A counter that changes with every insertion and eviction. */
  generation = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#entries.length - this.#evicted;
  }

  /** Size of the entries in bytes, as defined in §4.1. */
  get size(): number {
    return this.#size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Changes the capacity, and evicts entries that no longer fit (§4.3). */
  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#evictTo(capacity);
  }

  /** Returns the entry at a relative index; the newest entry is at 0. */
  at(place: number): HttpField | undefined {
    return place < this.count ? this.#entries[this.#entries.length - 1 - place] : undefined;
  }

  /** Inserts an entry; an entry larger than the table empties it (§4.4). */
  insert(field: HttpField): void {
    const size = fieldSize(field.name, field.value);
    this.#evictTo(Math.max(0, this.#capacity - size));
    this.generation++;
    if (size > this.#capacity) return;
    this.#entries.push(field);
    this.#size += size;
  }

  /** Finds an entry with a name and value, or else the newest with the name. */
  find(
    name: string,
    value: string,
  ): { readonly place: number; readonly isWhole: boolean } | undefined {
    let named: number | undefined;
    const last = this.#entries.length - 1;
    for (let at = last; at >= this.#evicted; at--) {
      const entry = this.#entries[at];
      if (entry?.name !== name) continue;
      if (entry.value === value) return { place: last - at, isWhole: true };
      named ??= last - at;
    }
    return named === undefined ? undefined : { place: named, isWhole: false };
  }

  #evictTo(size: number): void {
    while (this.#size > size) {
      const entry = this.#entries[this.#evicted++];
      if (!entry) break;
      this.#size -= fieldSize(entry.name, entry.value);
      this.generation++;
    }
    // Evicted entries are removed from the array before they outnumber the others.
    if (this.#evicted > 16 && this.#evicted * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#evicted);
      this.#evicted = 0;
    }
  }
}
