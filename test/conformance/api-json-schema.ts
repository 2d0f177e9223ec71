import type { Yaml } from './api-yaml.ts';

type Schema = { readonly [key: string]: Yaml };

/** The keywords of schemas that docs/openapi.yaml uses; any other is an error. */
const WORDS = new Set(
  '$ref type required properties additionalProperties items enum const oneOf pattern format minimum maximum description'.split(
    ' ',
  ),
);

/** Follows a reference within the document. */
export function resolve(document: Yaml, value: Yaml): Schema {
  const schema = value as Schema;
  const { $ref: reference } = schema;
  if (typeof reference !== 'string') return schema;
  let target: Yaml | undefined = document;
  for (const name of reference.replace(/^#\//, '').split('/')) target = (target as Schema)[name];
  if (target === undefined) throw new Error(`${reference} leads nowhere`);
  return resolve(document, target);
}

/** What is wrong with `value`; empty when it matches the schema. */
export function violations(document: Yaml, schemaOrRef: Yaml, value: unknown, at = '$'): string[] {
  const schema = resolve(document, schemaOrRef);
  for (const word of Object.keys(schema)) {
    if (!WORDS.has(word)) throw new Error(`${at}: the schema word ${word} is not known here`);
  }
  const found: string[] = [];
  const expect = (good: boolean, what: string): void => {
    if (!good) found.push(`${at}: ${JSON.stringify(value)} is not ${what}`);
  };
  if (schema['type'] !== undefined) {
    const types = [schema['type']].flat() as string[];
    expect(
      types.some((type) => isOfType(value, type)),
      types.join(' or '),
    );
  }
  if (schema['const'] !== undefined)
    expect(value === schema['const'], JSON.stringify(schema['const']));
  if (Array.isArray(schema['enum'])) expect(schema['enum'].includes(value as Yaml), 'in the enum');
  if (typeof schema['pattern'] === 'string') {
    expect(new RegExp(schema['pattern']).test(String(value)), schema['pattern']);
  }
  if (typeof value === 'number') {
    expect(value >= Number(schema['minimum'] ?? -Infinity), 'large enough');
    expect(value <= Number(schema['maximum'] ?? Infinity), 'small enough');
  }
  if (Array.isArray(schema['oneOf'])) {
    const fitting = schema['oneOf'].filter(
      (one) => violations(document, one, value, at).length === 0,
    );
    expect(fitting.length === 1, 'exactly one of the alternatives');
  }
  const { items } = schema;
  if (Array.isArray(value) && items !== undefined) {
    found.push(...value.flatMap((item, i) => violations(document, items, item, `${at}[${i}]`)));
  }
  if (isOfType(value, 'object')) found.push(...inObject(document, schema, value as object, at));
  return found;
}

function inObject(document: Yaml, schema: Schema, value: object, at: string): string[] {
  const properties = (schema['properties'] ?? {}) as Schema;
  const { additionalProperties: others } = schema;
  const missing = ((schema['required'] ?? []) as string[]).filter(
    (name) => !Object.hasOwn(value, name),
  );
  return [
    ...missing.map((name) => `${at}: ${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const place = `${at}.${name}`;
      const known = properties[name];
      if (known !== undefined) return violations(document, known, inner, place);
      if (others === false) return [`${place} is not in the schema`];
      return others === undefined || others === true
        ? []
        : violations(document, others, inner, place);
    }),
  ];
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
