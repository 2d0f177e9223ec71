/** Rules for fields that HTTP/2 and HTTP/3 share (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3). */

/** A name: a token in lower case. */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export const STATUS = /^[1-9][0-9]{2}$/;

/** Fields that are specific to a connection, which make a message malformed. */
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
/** Trailers have no pseudo-header fields. */
export const NO_PSEUDO: ReadonlySet<string> = new Set();
