import { hash } from 'node:crypto';
import { printable } from '@weir/base/printable';
import type { Node, Span, TableEntry, TableNode } from '@weir/proxy/schema';
import { ConfigError, type ConfigErrorOptions, type ConfigLocation } from '../errors.ts';
import { SourceText } from './source-text.ts';

/**
 * A configuration that a program gives as an object, in the form of a parsed document: plain data, which can be sent to
 * another thread.
 */
export interface ObjectDocument {
  readonly root: TableNode;
  /** The key paths of all values in order, one per line. The span of a value is that of its line. */
  readonly paths: string;
  /** SHA-256 of the keys and values, in hex. */
  readonly digest: string;
}

/** The deepest nesting; no table of a configuration has that many parents. */
const MAX_DEPTH = 32;

/** Maximum length of all key paths together, as of the bytes of a file. */
const MAX_PATHS = 256 * 1024 * 1024;

/**
 * Reads an object whose keys and values are those of a configuration file: tables are plain objects, integers are
 * integral numbers or bigints, and keys whose value is `undefined` are absent. The result shares nothing with the object.
 * @throws {ConfigError} with the key path of the first value that no file could contain
 */
export function readObject(tables: object): ObjectDocument {
  return new ObjectReader().read(tables);
}

/** Returns the places of an object, whose errors name key paths. */
export const sourceOfObject = ({ paths }: ObjectDocument): SourceText => new KeyPaths(paths);

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
  readonly #values: string[] = [];
  /** Length of the lines so far. */
  #at = 0;
  /** The objects around the current value, for cycles. */
  readonly #parents = new Set<object>();

  read(tables: object): ObjectDocument {
    const root = this.#read(tables, '');
    if (root?.kind !== 'table') throw this.#error('', 'expected an object of tables');
    return {
      root,
      paths: this.#lines.join(''),
      digest: hash('sha256', this.#values.join('\n')),
    };
  }

  /** Reads a value; `undefined` for an absent one. */
  #read(value: unknown, path: string): Node | undefined {
    if (value === undefined) return undefined;
    const span = this.#place(path);
    const scalar = scalarNode(value, span);
    if (scalar) {
      this.#values.push(
        `${scalar.kind} ${JSON.stringify(path)} ${JSON.stringify(String(scalar.value))}`,
      );
      if (scalar.kind === 'string' && !scalar.value.isWellFormed()) {
        throw this.#error(path, 'the text holds half of a surrogate pair');
      }
      return scalar;
    }
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
    this.#values.push(`array ${JSON.stringify(path)}`);
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
    const prototype: unknown = Object.getPrototypeOf(table);
    // Objects of other realms have another `Object.prototype`, whose own prototype is null.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      throw this.#error(path, notAValue(table));
    }
    this.#values.push(`table ${JSON.stringify(path)}`);
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
    if (this.#at > MAX_PATHS) throw this.#error('', 'the object is too large');
    this.#lines.push(line);
    return { start, end: this.#at - 1 };
  }

  #error(path: string, message: string): ConfigError {
    return objectError({ file: undefined, line: 0, column: 0, path }, message);
  }
}

const BARE_KEY = /^[\w-]+$/;

function scalarNode(value: unknown, span: Span) {
  if (typeof value === 'string') return { kind: 'string', span, value } as const;
  if (typeof value === 'boolean') return { kind: 'boolean', span, value } as const;
  if (typeof value === 'bigint') return { kind: 'integer', span, value } as const;
  if (typeof value !== 'number') return undefined;
  return Number.isSafeInteger(value)
    ? ({ kind: 'integer', span, value: BigInt(value) } as const)
    : ({ kind: 'float', span, value } as const);
}

function notAValue(value: unknown): string {
  const what =
    value === null || value === undefined
      ? String(value)
      : typeof value === 'object'
        ? `an object of the class ${classOf(value)}`
        : `a ${typeof value}`;
  return `${what} is not a value of a configuration: a string, a number, a boolean, a list or a plain object`;
}

/** Returns the name of an object's class, which may be any value. */
function classOf(value: object): string {
  const { constructor } = value;
  const name: unknown = typeof constructor === 'function' ? constructor.name : undefined;
  return typeof name === 'string' && name !== '' && name.length <= 64 ? name : 'unknown';
}
