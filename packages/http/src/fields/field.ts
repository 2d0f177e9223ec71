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

// ---- rules common to HTTP/2 and HTTP/3 (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3) ----

/** Matches a field name: a token in lower case. */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export const STATUS = /^[1-9][0-9]{2}$/;

/** Connection-specific fields, which make a message malformed. */
export const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

export const REQUEST_PSEUDO: ReadonlySet<string> = new Set([
  ':method',
  ':scheme',
  ':authority',
  ':path',
  ':protocol',
]);
export const RESPONSE_PSEUDO: ReadonlySet<string> = new Set([':status']);
/** The pseudo-header fields of trailers: none are allowed. */
export const NO_PSEUDO: ReadonlySet<string> = new Set();
