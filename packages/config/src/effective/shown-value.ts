import type { ScalarNode } from '@weir/proxy/schema';
import { basicString } from '../edit/toml-text.ts';

/** A value of the effective configuration, and its origin: `weir.toml:12`, or `default`. */
export type ShownValue = ShownScalar | ShownArray | ShownTable;

export interface ShownScalar {
  readonly kind: 'scalar';
  readonly from: string;
  /** The value as TOML. */
  readonly text: string;
  readonly json: string | number | boolean;
}

export interface ShownArray {
  readonly kind: 'array';
  readonly from: string;
  readonly items: readonly ShownValue[];
}

export interface ShownTable {
  readonly kind: 'table';
  readonly from: string;
  readonly entries: ReadonlyMap<string, ShownValue>;
}

/** The text shown instead of a secret. */
export const STARS = '***';

export const shownString = (value: string, from: string): ShownScalar => ({
  kind: 'scalar',
  from,
  text: basicString(value),
  json: value,
});

/**
 * Shows a scalar.
 * @param secret whether the value is replaced by stars
 */
export function shownScalar(node: ScalarNode, from: string, secret: boolean): ShownScalar {
  if (secret) return shownString(STARS, from);
  switch (node.kind) {
    case 'string':
      return shownString(node.value, from);
    case 'integer': {
      const text = String(node.value);
      const json = Number.isSafeInteger(Number(node.value)) ? Number(node.value) : text;
      return { kind: 'scalar', from, text, json };
    }
    case 'float':
      return { kind: 'scalar', from, text: floatText(node.value), json: node.value };
    case 'boolean':
      return { kind: 'scalar', from, text: String(node.value), json: node.value };
    case 'datetime':
      return { kind: 'scalar', from, text: node.value, json: node.value };
    default:
      return node satisfies never;
  }
}

function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}
