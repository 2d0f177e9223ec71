import { ImportError } from './draft.ts';

/** A key of a document that no reader has read. */
export interface UnreadKey {
  /** Includes the keys of enclosing objects: `tls.utls`. */
  readonly path: string;
  readonly value: unknown;
}

/**
 * An object in another program's document, read key by key. Records which keys are read, so that
 * the others can be reported.
 */
export class ForeignObject {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();
  readonly #nested = new Map<string, ForeignObject>();

  /** @throws {ImportError} for anything but an object; null and undefined are an empty object. */
  constructor(value: unknown, name = 'it') {
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

  /** The value of a key, which does not count as read. */
  peek(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }

  /** A string; numbers and booleans are converted to text. */
  text(key: string): string | undefined {
    const value = this.#own(key);
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    throw new ImportError(`${JSON.stringify(key)} is not a string`);
  }

  /** @throws {ImportError} when it is missing. */
  needText(key: string): string {
    const value = this.text(key);
    if (value === undefined) throw new ImportError(`it has no ${JSON.stringify(key)}`);
    return value;
  }

  number(key: string): number | undefined {
    const text = this.text(key);
    if (text === undefined || text === '') return undefined;
    const value = Number(text);
    if (!Number.isSafeInteger(value))
      throw new ImportError(`${JSON.stringify(key)} is not a number`);
    return value;
  }

  flag(key: string): boolean {
    const value = this.#own(key);
    if (typeof value === 'string') return value === '1' || value.toLowerCase() === 'true';
    return value === true || value === 1;
  }

  /** The object at a key; an empty one if absent. */
  fields(key: string): ForeignObject {
    return this.#nest(key, () => this.#own(key));
  }

  /** A list; a single value counts as a list of one. */
  list(key: string): readonly unknown[] {
    const value = this.#own(key);
    if (Array.isArray(value)) return value;
    return value === undefined || value === null ? [] : [value];
  }

  /** The only object of a list. @throws {ImportError} for more than one. */
  only(key: string): ForeignObject {
    return this.#nest(key, () => {
      const list = this.list(key);
      if (list.length > 1) throw new ImportError(`${JSON.stringify(key)} has more than one entry`);
      return list[0];
    });
  }

  /** The keys that have not been read, including those of nested objects. */
  *unread(prefix = ''): Generator<UnreadKey> {
    for (const key of this.keys) {
      const nested = this.#nested.get(key);
      if (nested) yield* nested.unread(`${prefix}${key}.`);
      else if (!this.#read.has(key)) yield { path: prefix + key, value: this.#value[key] };
    }
  }

  #nest(key: string, value: () => unknown): ForeignObject {
    let nested = this.#nested.get(key);
    if (!nested) {
      nested = new ForeignObject(value(), JSON.stringify(key));
      this.#nested.set(key, nested);
    }
    return nested;
  }

  #own(key: string): unknown {
    this.#read.add(key);
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }
}
