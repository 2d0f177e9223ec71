/** Rules for fields that HTTP/2 and HTTP/3 share (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3). */

/** A name: a token in lower case. */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export const STATUS = /^[1-9][0-9]{2}$/;

/** Fields that describe a connection have no place in either. */
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
/** Of trailers. */
export const NO_PSEUDO: ReadonlySet<string> = new Set();
