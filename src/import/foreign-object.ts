import { ImportError } from './draft.ts';

/** A key of a document that no reader has read. */
export interface UnreadKey {
  /** Includes the keys of enclosing objects: `tls.utls`. */
  readonly path: string;
  readonly value: unknown;
  /** Why it counts as absent, where its value is of another type than its readers want. */
  readonly problem?: string | undefined;
}

/**
 * Whether a value says nothing: null, and what converters and generators write for keys that a user has left
 * empty.
 */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.every((each) => each === null || each === '');
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The entries of a list that say something; all of them where none does, so that it does not become absent. */
export function statedOf(list: readonly unknown[]): readonly unknown[] {
  const stated = list.filter((each) => !isEmpty(each));
  return stated.length === 0 ? list : stated;
}

/** Words for true, of which YAML 1.1 has several: TLS that is asked for by one of them is not left out. */
const TRUE: ReadonlySet<string> = new Set(['1', 'true', 'yes', 'on', 'y', 't']);

/** What an object does with values of another type than its readers want. */
export type OddValues = 'refused' | 'reported';

/**
 * An object in another program's document, read key by key. Records which keys are read, so that
 * the others can be reported.
 */
export class ForeignObject {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();
  readonly #nested = new Map<string, ForeignObject>();
  readonly #oddValues: OddValues;
  readonly #odd = new Map<string, string>();

  /**
   * @param oddValues `reported` where one odd key is not to cost the others: it counts as absent
   * @throws {ImportError} for anything but an object; null and undefined are an empty object.
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

  /** Whether a key has a value that says something. */
  states(key: string): boolean {
    return this.has(key) && !isEmpty(this.#value[key]);
  }

  /** The value of a key, which does not count as read. */
  peek(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }

  /** A string; numbers and booleans are converted to text, and what is empty is absent or an empty text. */
  text(key: string): string | undefined {
    const value = this.#own(key);
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return isEmpty(value) ? undefined : this.#refuse(key, 'is not a string');
  }

  /** @throws {ImportError} when it is missing. */
  needText(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw new ImportError(`it has no ${JSON.stringify(key)}`);
    return value;
  }

  /** The first of some keys whose text is not empty. */
  firstText(...keys: readonly string[]): string | undefined {
    return keys.map((key) => this.text(key)).find((text) => text !== undefined && text !== '');
  }

  /** The value of an HTTP header, whose name has no case; the first text of a list. */
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

  /** A list; a single value counts as a list of one. */
  list(key: string): readonly unknown[] {
    const value = this.#own(key);
    if (Array.isArray(value)) return value;
    return value === undefined || value === null ? [] : [value];
  }

  /** A list of entries, of which an empty text or object in place of the list is none. */
  entries(key: string): readonly unknown[] {
    const list = this.list(key);
    return Array.isArray(this.#value[key]) || !list.every(isEmpty) ? list : [];
  }

  /** The only object of a list. @throws {ImportError} for more than one. */
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
