/** A field line of HTTP/2 or HTTP/3; the name is in lower case, texts are latin1. */
export interface HttpField {
  readonly name: string;
  readonly value: string;
}

/** Number of bytes counted for a field in addition to its name and value. */
const FIELD_OVERHEAD = 32;

/**
 * Returns the size of a field in header lists and dynamic tables, in bytes (RFC 7541 §4.1, RFC 9113 §10.5.1, RFC 9114
 * §4.2.2).
 */
export const fieldSize = (name: string, value: string): number =>
  name.length + value.length + FIELD_OVERHEAD;

/** Returns the value of the first field with a name. */
export const valueOf = (fields: readonly HttpField[], name: string): string | undefined =>
  fields.find((field) => field.name === name)?.value;
