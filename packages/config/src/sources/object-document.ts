import { printable } from '@weir/base/printable';
import type { Node, Span, TableEntry, TableNode } from '@weir/proxy/schema';
import { ConfigError, type ConfigErrorOptions, type ConfigLocation } from '../errors.ts';
import { SourceText } from './source-text.ts';

/** The deepest nesting; no table of a configuration has that many parents. */
const MAX_DEPTH = 32;

/** Maximum length of the JSON of an object, and of its key paths. */
const MAX_LENGTH = 256 * 1024 * 1024;

/**
 * Copies an object whose keys and values are those of a configuration file, as JSON, which is read where a file would be:
 * tables are plain objects, and keys whose value is `undefined` are absent.
 * @throws {ConfigError} with the key path of the first value that no file could contain
 */
export function jsonOf(tables: object): string {
  try {
    const json = JSON.stringify(tables, plainValue);
    if (json.length <= MAX_LENGTH) return json;
  } catch {
    // Reading it as a document finds the place.
    readTables(tables);
  }
  throw new ConfigError('invalid', 'the configuration is too large');
}

/** A parsed object, with its places. */
interface ObjectDocument {
  readonly root: TableNode;
  /** The key paths of all values in order, one per line. The span of a value is that of its line. */
  readonly source: SourceText;
}

/** Reads an object as a document. @throws {ConfigError} as `jsonOf` does */
export const readTables = (tables: unknown): ObjectDocument => new ObjectReader().read(tables);

/** The places of an object: one line for each key path. */
class KeyPaths extends SourceText {
  constructor(paths: string) {
    super(paths, undefined);
  }

  override locate(offset: number): ConfigLocation {
    const end = this.text.indexOf('\n', offset);
    const path = this.text.slice(this.text.lastIndexOf('\n', offset - 1) + 1, end);
    return { file: undefined, line: 0, column: 0, path };
  }
}

/** Creates the error of a value in an object; its message begins with the key path. */
export function objectError(
  location: ConfigLocation,
  message: string,
  options?: ConfigErrorOptions,
): ConfigError {
  const place = location.path || 'the configuration';
  return new ConfigError('invalid', printable(`${place}: ${message}`), { ...options, location });
}

class ObjectReader {
  readonly #lines: string[] = [];
  /** Length of the lines so far. */
  #at = 0;
  /** The objects around the current value, for cycles. */
  readonly #parents = new Set<object>();

  read(tables: unknown): ObjectDocument {
    const root = this.#read(tables, '');
    if (root?.kind !== 'table') throw this.#error('', 'expected an object of tables');
    return { root, source: new KeyPaths(this.#lines.join('')) };
  }

  /** Reads a value; `undefined` for an absent one. */
  #read(value: unknown, path: string): Node | undefined {
    if (value === undefined) return undefined;
    const span = this.#place(path);
    const scalar = scalarNode(value, span);
    if (scalar?.kind === 'string' && !scalar.value.isWellFormed()) {
      throw this.#error(path, 'the text holds half of a surrogate pair');
    }
    if (scalar) return scalar;
    if (typeof value !== 'object' || value === null) throw this.#error(path, notAValue(value));
    if (this.#parents.has(value)) throw this.#error(path, 'the object contains itself');
    if (this.#parents.size === MAX_DEPTH) throw this.#error(path, 'nested too deeply');
    this.#parents.add(value);
    try {
      return Array.isArray(value)
        ? this.#readList(value, path, span)
        : this.#readTable(value, path, span);
    } finally {
      this.#parents.delete(value);
    }
  }

  #readList(list: readonly unknown[], path: string, span: Span): Node {
    const items: Node[] = [];
    for (const [index, item] of list.entries()) {
      const at = `${path}[${index}]`;
      const node = this.#read(item, at);
      if (node === undefined) throw this.#error(at, notAValue(item));
      items.push(node);
    }
    return { kind: 'array', span, items };
  }

  #readTable(table: object, path: string, span: Span): Node {
    if (!isPlain(table)) throw this.#error(path, notAValue(table));
    const entries = new Map<string, TableEntry>();
    for (const [key, item] of Object.entries(table)) {
      const name = BARE_KEY.test(key) ? key : JSON.stringify(key);
      const value = this.#read(item, path === '' ? name : `${path}.${name}`);
      if (value !== undefined) entries.set(key, { key: value.span, value });
    }
    return { kind: 'table', span, entries };
  }

  #place(path: string): Span {
    const start = this.#at;
    const line = `${path}\n`;
    this.#at += line.length;
    // Long keys of tables with many values are in many paths.
    if (this.#at > MAX_LENGTH) throw this.#error('', 'the key paths are too long');
    this.#lines.push(line);
    return { start, end: this.#at - 1 };
  }

  #error(path: string, message: string): ConfigError {
    return objectError({ file: undefined, line: 0, column: 0, path }, message);
  }
}

const BARE_KEY = /^[\w-]+$/;

/** Whether an object is one of braces, of this realm or another, whose `Object.prototype` has no prototype either. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const isSafe = (value: bigint): boolean => Number.isSafeInteger(Number(value));

function scalarNode(value: unknown, span: Span) {
  if (typeof value === 'string') return { kind: 'string', span, value } as const;
  if (typeof value === 'boolean') return { kind: 'boolean', span, value } as const;
  if (typeof value === 'bigint' && isSafe(value)) return { kind: 'integer', span, value } as const;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isSafeInteger(value)
    ? ({ kind: 'integer', span, value: BigInt(value) } as const)
    : ({ kind: 'float', span, value } as const);
}

/** Returns a value for JSON as it is, without `toJSON`. @throws {TypeError} for one that JSON would change */
function plainValue(this: unknown, key: string): unknown {
  const value = (this as Readonly<Record<string, unknown>>)[key];
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'bigint' && isSafe(value)) return Number(value);
  if (value === undefined && !Array.isArray(this)) return undefined;
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && (Array.isArray(value) || isPlain(value))) return value;
  throw new TypeError(notAValue(value));
}

function notAValue(value: unknown): string {
  const what = kindOf(value);
  return `${what} is not a value of a configuration: a string, a number, a boolean, a list or a plain object`;
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'bigint') return `the integer ${value}, which is beyond 2^53,`;
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object'
    ? `an object of the class ${classOf(value)}`
    : `a ${typeof value}`;
}

/** Returns the name of an object's class, which may be any value. */
function classOf(value: object): string {
  const { constructor } = value;
  const name: unknown = typeof constructor === 'function' ? constructor.name : undefined;
  return typeof name === 'string' && name !== '' && name.length <= 64 ? name : 'unknown';
}
