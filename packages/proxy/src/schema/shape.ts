/**
 * The key of a shape that determines whether errors may quote its values. A symbol, so that it is
 * not part of the schema as JSON.
 */
export const DISCLOSURE = Symbol('disclosure');

/** The values that a decoder accepts, as JSON Schema, for editors; less precise than the decoder. */
export interface Shape {
  readonly type?: 'string' | 'boolean' | 'integer' | 'array' | 'object';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Shape;
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly if?: Shape;
  readonly then?: Shape;
  readonly const?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | readonly never[];
  readonly [DISCLOSURE]?: 'public' | 'secret';
}

/** Gives a decoder its shape. */
export const shaped = <D extends object>(decoder: D, shape: Shape): D =>
  Object.assign(decoder, { shape });

/** Returns a default as a document would write it; `undefined` if no scalar can express it. */
export function plainDefault(value: unknown): Shape['default'] {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  return Array.isArray(value) && value.length === 0 ? [] : undefined;
}
