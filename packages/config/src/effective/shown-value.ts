import type { ScalarNode } from '@weir/proxy/schema';
import { basicString, dottedKey, keyText, terminalSafe } from '../edit/toml-text.ts';
import { printable } from '@weir/base/printable';

/** A value of the effective configuration, and its origin: `weir.toml:12`, or `default`. */
export type ShownValue = ShownScalar | ShownArray | ShownTable;

interface ShownScalar {
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

/** The width in characters beyond which an array of values is broken. */
const WIDTH = 100;

/** Returns the tables as TOML, with the place of each value in a comment after it. */
export function shownToml(table: ShownTable): string {
  return Array.from(linesOf(table, []), terminalSafe).join('\n').trimStart().concat('\n');
}

const note = (from: string): string => ` # ${printable(from)}`;

function* linesOf(table: ShownTable, path: readonly string[]): Generator<string> {
  const below: [string, ShownValue][] = [];
  for (const [key, value] of table.entries) {
    if (isBelow(value)) below.push([key, value]);
    else yield* pairLines(keyText(key), value);
  }
  for (const [key, value] of below) {
    const name = [...path, key];
    if (value.kind === 'table') {
      yield '';
      yield `[${dottedKey(name)}]${note(value.from)}`;
      yield* linesOf(value, name);
    } else if (value.kind === 'array') {
      for (const item of value.items) {
        yield '';
        yield `[[${dottedKey(name)}]]${note(item.from)}`;
        if (item.kind === 'table') yield* linesOf(item, name);
      }
    }
  }
}

/** Whether a value is written with headers, below the other keys. */
const isBelow = (value: ShownValue): boolean =>
  value.kind === 'table' ||
  (value.kind === 'array' &&
    value.items.length > 0 &&
    value.items.every(({ kind }) => kind === 'table'));

function* pairLines(key: string, value: ShownValue): Generator<string> {
  const text = inlineText(value);
  if (value.kind !== 'array' || key.length + text.length < WIDTH) {
    yield `${key} = ${text}${note(value.from)}`;
    return;
  }
  yield `${key} = [${note(value.from)}`;
  for (const item of value.items) yield `  ${inlineText(item)},${note(item.from)}`;
  yield ']';
}

function inlineText(value: ShownValue): string {
  switch (value.kind) {
    case 'scalar':
      return value.text;
    case 'array':
      return `[${value.items.map(inlineText).join(', ')}]`;
    case 'table':
      return `{ ${[...value.entries].map(([key, part]) => `${keyText(key)} = ${inlineText(part)}`).join(', ')} }`;
    default:
      return value satisfies never;
  }
}

/** Returns the values as plain data, and the place of each by its path: `inbound[0].settings.users[1].email`. */
export function shownJson(table: ShownTable): {
  readonly config: unknown;
  readonly places: Readonly<Record<string, string>>;
} {
  const places: [string, string][] = [];
  const config = jsonOf(table, '', places);
  return { config, places: Object.fromEntries(places) };
}

function jsonOf(value: ShownValue, path: string, places: [string, string][]): unknown {
  switch (value.kind) {
    case 'scalar':
      places.push([path, value.from]);
      return value.json;
    case 'array':
      if (value.items.length === 0) places.push([path, value.from]);
      return value.items.map((item, index) => jsonOf(item, `${path}[${index}]`, places));
    case 'table':
      return Object.fromEntries(
        Array.from(value.entries, ([key, part]) => [
          key,
          jsonOf(part, path === '' ? keyText(key) : `${path}.${keyText(key)}`, places),
        ]),
      );
    default:
      return value satisfies never;
  }
}
