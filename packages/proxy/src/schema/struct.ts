import { type Decoder, tableWith } from './decoder.ts';
import type { Node, TableNode } from './node.ts';
import { DecodeError, expectedOneOf, FirstError } from './errors.ts';
import { foreignKeyHint } from './foreign-keys.ts';
import { plainDefault, type Shape, shaped } from './shape.ts';
import { suggestion } from './suggestion.ts';

/** A key of a table that is optional or has aliases. */
export interface KeyDecoder<T> {
  readonly decode: Decoder<T>;
  /** Returns the value of an absent key; `undefined` for a required one. */
  readonly absent: (() => T) | undefined;
  readonly aliases: readonly string[];
  /** The value of an absent key as a document would write it, if any. */
  readonly shownDefault?: Shape['default'];
}

/** The keys of a table: a bare decoder is a required key. */
export type KeyDecoders = Readonly<Record<string, Decoder<unknown> | KeyDecoder<unknown>>>;

/** Descriptions of keys in a few words, shown by editors. */
export type Descriptions<S extends KeyDecoders> = { readonly [Property in keyof S]?: string };

/** The type of a decoded table. */
export type DecodedKeys<S extends KeyDecoders> = {
  readonly [Property in keyof S]: S[Property] extends Decoder<infer T>
    ? T
    : S[Property] extends KeyDecoder<infer T>
      ? T
      : never;
};

/** The type that a decoder returns. */
export type Decoded<D> = D extends Decoder<infer T> ? T : never;

const toField = <T>(part: Decoder<T> | KeyDecoder<T>): KeyDecoder<T> =>
  typeof part === 'function' ? { decode: part, absent: undefined, aliases: [] } : part;

/** Declares an optional key. */
export const optional = <T>(decode: Decoder<T>): KeyDecoder<T | undefined> => ({
  decode,
  absent: () => undefined,
  aliases: [],
});

/** Declares an optional key with a default value. */
export const fallback = <T>(decode: Decoder<T>, value: T): KeyDecoder<T> => ({
  decode,
  absent: () => value,
  aliases: [],
  shownDefault: plainDefault(value),
});

/** A key with other names; using two of them is an error. */
export const alias = <T>(
  part: Decoder<T> | KeyDecoder<T>,
  ...aliases: readonly string[]
): KeyDecoder<T> => ({
  ...toField(part),
  aliases,
});

/** Returns the key of a property in snake case: `udpBind` is written `udp_bind`. */
const keyOf = (property: string): string =>
  property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns a hint for a missing key that is in a later table, below whose header it was written. */
export function strayHint(entries: TableNode['entries'], key: string): string | undefined {
  for (const [name, { value }] of entries) {
    if (value.kind !== 'table' || !value.entries.has(key)) continue;
    return `\`${key}\` is in \`${name}\`: keys behind a [header] belong to its table, so write it above the header`;
  }
  return undefined;
}

/** Keys that the hint for a value in place of a table lists. */
const MOST_SHOWN = 3;

/** Returns a hint for a value that is not a table. */
const tableHint = (keys: readonly string[]): string =>
  `write a table: { ${keys
    .slice(0, MOST_SHOWN)
    .map((key) => `${key} = …`)
    .join(', ')} }`;

/**
 * Decodes a table with fixed keys, the property names in snake case; any other key is an error.
 *
 * A missing key is reported only if all keys of the table are valid, because a misspelt key is the
 * more useful error.
 *
 * @param hint for a value that is not a table; by default lists the first keys
 */
export function struct<S extends KeyDecoders>(
  shape: S,
  descriptions: Descriptions<S> = {},
  hint?: (node: Node) => string,
): Decoder<DecodedKeys<S>> {
  const fields = Object.entries(shape).map(([property, part]) => ({
    property,
    key: keyOf(property),
    field: toField(part),
  }));
  const keysHint = tableHint(fields.map(({ key }) => key));
  const decodeTable = tableWith(hint ?? (() => keysHint));
  const byName = new Map(
    fields.flatMap((entry) => [entry.key, ...entry.field.aliases].map((name) => [name, entry])),
  );
  const expected = expectedOneOf([...byName.keys()]);

  const decode: Decoder<DecodedKeys<S>> = (node) => {
    const { entries, span } = decodeTable(node);
    const seen = new Set<string>();
    const decoded: Record<string, unknown> = {};
    const errors = new FirstError();
    for (const [name, { key: keySpan, value }] of entries) {
      const entry = byName.get(name);
      if (!entry) {
        const meantKey = (): string | undefined => {
          const foreign = foreignKeyHint(name, byName.keys());
          if (foreign !== undefined) return foreign;
          const meant = suggestion(name, byName.keys());
          return meant === undefined ? undefined : `did you mean \`${meant}\`?`;
        };
        errors.add(
          new DecodeError(`unknown field \`${name}\`, ${expected}`, keySpan, { hint: meantKey }),
        );
      } else if (seen.has(entry.key)) {
        errors.add(new DecodeError(`duplicate field \`${entry.key}\``, keySpan));
      } else {
        seen.add(entry.key);
        errors.attempt(() => {
          decoded[entry.property] = entry.field.decode(value);
        });
      }
    }
    errors.throwIfAny();
    for (const { property, key, field } of fields) {
      if (seen.has(key)) continue;
      if (!field.absent) {
        throw new DecodeError(`missing field \`${key}\``, span, { hint: strayHint(entries, key) });
      }
      decoded[property] = field.absent();
    }
    // Every property has been set by its decoder above.
    return decoded as DecodedKeys<S>;
  };
  return shaped(decode, {
    type: 'object',
    properties: Object.fromEntries(
      fields.flatMap(({ property, key, field }) => {
        const { shownDefault } = field;
        const description = descriptions[property];
        const value: Shape = {
          ...field.decode.shape,
          ...(description !== undefined && { description }),
          ...(shownDefault !== undefined && { default: shownDefault }),
        };
        return [key, ...field.aliases].map((name) => [name, value]);
      }),
    ),
    required: fields
      .filter(({ field }) => !field.absent && field.aliases.length === 0)
      .map(({ key }) => key),
    additionalProperties: false,
  });
}
