import { ImportError } from './draft.ts';

/** A key of a document that no reader has read. */
export interface UnreadKey {
  /** Path of the key, including the keys of enclosing objects: `tls.utls`. */
  readonly path: string;
  readonly value: unknown;
  /** Why the key counts as absent, if its value has an unexpected type. */
  readonly problem?: string | undefined;
}

/**
 * Whether a value is empty: null, or a value that converters and generators write for keys that a user has left empty.
 */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.every((each) => each === null || each === '');
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The non-empty entries of a list; all entries if all are empty, so that the list does not become absent. */
export function statedOf(list: readonly unknown[]): readonly unknown[] {
  const stated = list.filter((each) => !isEmpty(each));
  return stated.length === 0 ? list : stated;
}

/** Texts for true, of which YAML 1.1 has several: TLS must not be lost because of its spelling. */
const TRUE: ReadonlySet<string> = new Set(['1', 'true', 'yes', 'on', 'y', 't']);

/** The treatment of values of an unexpected type. */
export type OddValues = 'refused' | 'reported';

/**
 * An object of another program's document, read key by key. It records which keys are read, so that the others can be
 * reported.
 */
export class ForeignObject {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();
  readonly #nested = new Map<string, ForeignObject>();
  readonly #oddValues: OddValues;
  readonly #odd = new Map<string, string>();

  /**
   * @param oddValues `reported` if one odd value must not invalidate the others: its key counts as absent
   * @throws {ImportError} for any value but an object; null and undefined are an empty object
   */
  constructor(value: unknown, name = 'it', oddValues: OddValues = 'refused') {
    this.#oddValues = oddValues;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      this.#value = value as Record<string, unknown>;
    } else if (value === undefined || value === null) this.#value = {};
    else throw new ImportError(`${name} is not an object`);
  }

  get keys(): readonly string[] {
    return Object.keys(this.#value);
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#value, key) && this.#value[key] !== null;
  }

  /** Whether a key has a non-empty value. */
  states(key: string): boolean {
    return this.has(key) && !isEmpty(this.#value[key]);
  }

  /** The value of a key, without recording it as read. */
  peek(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }

  /** A text; numbers and booleans are converted. An empty value is absent or an empty text. */
  text(key: string): string | undefined {
    const value = this.#own(key);
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return isEmpty(value) ? undefined : this.#refuse(key, 'is not a string');
  }

  /** A required text. @throws {ImportError} when it is missing */
  needText(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw new ImportError(`it has no ${JSON.stringify(key)}`);
    return value;
  }

  /** The first non-empty text of some keys. */
  firstText(...keys: readonly string[]): string | undefined {
    return keys.map((key) => this.text(key)).find((text) => text !== undefined && text !== '');
  }

  /** The value of an HTTP header, whose name is case-insensitive; the first text of a list. */
  header(name: string): string | undefined {
    const lower = name.toLowerCase();
    const keys = this.keys.filter((key) => key.toLowerCase() === lower);
    return keys
      .flatMap((key) => this.list(key))
      .find((value) => typeof value === 'string' && value !== '') as string | undefined;
  }

  number(key: string): number | undefined {
    const text = this.text(key);
    if (text === undefined || text === '') return undefined;
    const value = Number(text);
    return Number.isSafeInteger(value) ? value : this.#refuse(key, 'is not a number');
  }

  flag(key: string): boolean {
    const value = this.#own(key);
    if (typeof value === 'string') return TRUE.has(value.trim().toLowerCase());
    return value === true || value === 1;
  }

  /** The object at a key; an empty one if absent or empty. */
  fields(key: string): ForeignObject {
    return this.#nest(key, () => this.#own(key));
  }

  /** The list at a key; a single value counts as a list of one. */
  list(key: string): readonly unknown[] {
    const value = this.#own(key);
    if (Array.isArray(value)) return value;
    return value === undefined || value === null ? [] : [value];
  }

  /** The list of entries at a key; an empty text or object in place of the list counts as an empty list. */
  entries(key: string): readonly unknown[] {
    const list = this.list(key);
    return Array.isArray(this.#value[key]) || !list.every(isEmpty) ? list : [];
  }

  /** The only object of the list at a key. @throws {ImportError} for more than one */
  only(key: string): ForeignObject {
    return this.#nest(key, () => {
      const given = this.entries(key);
      const list = given.length > 1 ? given.filter((each) => !isEmpty(each)) : given;
      if (list.length > 1) throw new ImportError(`${JSON.stringify(key)} has more than one entry`);
      return list[0];
    });
  }

  /** The keys that have not been read, including those of nested objects. */
  *unread(prefix = ''): Generator<UnreadKey> {
    for (const key of this.keys) {
      const nested = this.#nested.get(key);
      const problem = this.#odd.get(key);
      if (problem !== undefined) {
        yield { path: prefix + key, value: this.#value[key], problem };
      } else if (nested) yield* nested.unread(`${prefix}${key}.`);
      else if (!this.#read.has(key)) yield { path: prefix + key, value: this.#value[key] };
    }
  }

  #nest(key: string, value: () => unknown): ForeignObject {
    let nested = this.#nested.get(key);
    if (!nested) {
      nested = new ForeignObject(
        this.#objectIn(key, value()),
        JSON.stringify(key),
        this.#oddValues,
      );
      this.#nested.set(key, nested);
    }
    return nested;
  }

  #objectIn(key: string, value: unknown): unknown {
    if (isEmpty(value)) return undefined;
    const isObject = typeof value === 'object' && !Array.isArray(value);
    return isObject ? value : this.#refuse(key, 'is not an object');
  }

  #refuse(key: string, what: string): undefined {
    if (this.#oddValues === 'refused') throw new ImportError(`${JSON.stringify(key)} ${what}`);
    this.#odd.set(key, `it ${what}`);
    return undefined;
  }

  #own(key: string): unknown {
    this.#read.add(key);
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }
}
