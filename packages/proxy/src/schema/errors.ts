import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Node, Span } from './node.ts';

/** Describes a value as serde's errors do: ``integer `5` ``, `string "x"`, `sequence`. */
export function describeNode(node: Node): string {
  switch (node.kind) {
    case 'string':
      return `string ${JSON.stringify(node.value)}`;
    case 'integer':
      return `integer \`${node.value}\``;
    case 'float':
      return `floating point \`${floatText(node.value)}\``;
    case 'boolean':
      return `boolean \`${node.value}\``;
    case 'datetime':
      return `datetime \`${node.value}\``;
    case 'array':
      return 'sequence';
    case 'table':
      return 'map';
    default:
      return node satisfies never;
  }
}

/** Returns the kind of a value as serde's errors name it, without the value, which may be a secret. */
export function describeKind(node: Node): string {
  return node.kind === 'array' || node.kind === 'table' ? describeNode(node) : node.kind;
}

/** Returns the expected names: ``expected `a` or `b` ``, ``expected one of `a`, `b`, `c` ``. */
export function expectedOneOf(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  if (quoted.length === 0) return 'there are no fields';
  if (quoted.length <= 2) return `expected ${quoted.join(' or ')}`;
  return `expected one of ${quoted.join(', ')}`;
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** A value that a decoder rejects; `span` is its place. */
export class DecodeError extends WeirError {
  readonly span: Span;

  constructor(message: string, span: Span, options?: WeirErrorOptions) {
    super('decode', message, options);
    this.span = span;
  }
}

/** A DecodeError whose message gets no prefix such as `invalid settings`. */
export class PlainDecodeError extends DecodeError {}

/** Collects errors of several parts of a value, and keeps the first in document order. */
export class FirstError {
  #first: DecodeError | undefined;

  /** Runs one part and keeps its DecodeError; any other error is a defect and is rethrown. */
  attempt(part: () => void): void {
    try {
      part();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.add(error);
    }
  }

  add(error: DecodeError): void {
    if (!this.#first || error.span.start < this.#first.span.start) this.#first = error;
  }

  /**
   * Throws the first collected error, if any.
   * @throws {DecodeError}
   */
  throwIfAny(): void {
    if (this.#first) throw this.#first;
  }
}
