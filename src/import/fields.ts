import { ImportError } from './draft.ts';

/** An object of a document of another program, read key by key. */
export class Fields {
  readonly #value: Readonly<Record<string, unknown>>;

  /** Anything but an object has no keys. */
  constructor(value: unknown) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#value = isObject ? (value as Record<string, unknown>) : {};
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#value, key) && this.#value[key] !== null;
  }

  /** A string; a number or a boolean as text. */
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

  fields(key: string): Fields {
    return new Fields(this.#own(key));
  }

  /** A list; one value stands for a list of it. */
  list(key: string): readonly unknown[] {
    const value = this.#own(key);
    if (Array.isArray(value)) return value;
    return value === undefined || value === null ? [] : [value];
  }

  /** The first of a list of objects. @throws {ImportError} for more than one, which Weir has outbounds for. */
  only(key: string): Fields {
    const list = this.list(key);
    if (list.length > 1) throw new ImportError(`${JSON.stringify(key)} has more than one entry`);
    return new Fields(list[0]);
  }

  #own(key: string): unknown {
    return Object.hasOwn(this.#value, key) ? this.#value[key] : undefined;
  }
}
