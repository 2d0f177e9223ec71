import {
  type HttpField,
  valueOf,
  CONNECTION_SPECIFIC,
  FIELD_NAME,
  NO_PSEUDO,
  REQUEST_PSEUDO,
  RESPONSE_PSEUDO,
  STATUS,
  hasControl,
  isToken,
} from '../fields/field.ts';
import { streamError, type Http3Error } from './errors.ts';

/** The header section of a request that passed every check of RFC 9114 §4.2 and §4.3.1. */
export interface Http3Request {
  readonly method: string;
  /** The scheme; empty for CONNECT, as is `path`. */
  readonly scheme: string;
  /** The value of `:authority`, or else of `host`. */
  readonly authority: string;
  /** The path with its query. */
  readonly path: string;
  /** Fields other than pseudo-header fields, in order of arrival; text is latin1. */
  readonly fields: readonly HttpField[];
}

/** The header section of a final response. */
export interface Http3ResponseHead {
  readonly status: number;
  readonly fields: readonly HttpField[];
}

/** A response to send. */
export interface Http3Response extends Http3ResponseHead {
  /** The status of an interim response before the final one: 100 to 199, except 101, which HTTP/3 does not have. */
  readonly interim?: number | undefined;
  /** The body; not sent with a response to HEAD, nor with 204 and 304. */
  readonly body: Uint8Array;
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+\-.]*$/;
const DIGITS = /^[0-9]+$/;

/** A message head with the length that its `content-length` declares. */
export interface Parsed<Head> {
  readonly head: Head;
  readonly contentLength: number | undefined;
}

const malformed = (reason: string): Http3Error => streamError('H3_MESSAGE_ERROR', reason);

/** Checks the header section of a request (RFC 9114 §4.2, §4.3.1); returns H3_MESSAGE_ERROR if it is malformed. */
export function parseRequest(section: readonly HttpField[]): Parsed<Http3Request> | Http3Error {
  const split = splitPseudo(section, REQUEST_PSEUDO);
  if (typeof split === 'string') return malformed(split);
  const { pseudo, fields, contentLength } = split;
  const problem = requestProblem(pseudo, fields);
  if (problem !== undefined) return malformed(problem);
  const head = {
    method: pseudo.get(':method') ?? '',
    scheme: pseudo.get(':scheme') ?? '',
    authority: pseudo.get(':authority') ?? valueOf(fields, 'host') ?? '',
    path: pseudo.get(':path') ?? '',
    fields,
  };
  return { head, contentLength };
}

/** Checks the header section of a response (§4.3.2); returns H3_MESSAGE_ERROR if it is malformed. */
export function parseResponse(
  section: readonly HttpField[],
): Parsed<Http3ResponseHead> | Http3Error {
  const split = splitPseudo(section, RESPONSE_PSEUDO);
  if (typeof split === 'string') return malformed(split);
  const status = split.pseudo.get(':status') ?? '';
  if (!STATUS.test(status)) return malformed('the status is missing or invalid');
  // Switching protocols does not exist in HTTP/3 (§4.5).
  if (status === '101') return malformed('a response has status 101');
  return {
    head: { status: Number(status), fields: split.fields },
    contentLength: split.contentLength,
  };
}

/** Checks a trailer section, which has no pseudo-header fields (§4.3). */
export function checkTrailers(section: readonly HttpField[]): Http3Error | undefined {
  const split = splitPseudo(section, NO_PSEUDO);
  return typeof split === 'string' ? malformed(split) : undefined;
}

interface Split {
  readonly pseudo: ReadonlyMap<string, string>;
  readonly fields: readonly HttpField[];
  readonly contentLength: number | undefined;
}

/** Separates pseudo-header fields from the others; returns the reason if either are invalid. */
function splitPseudo(section: readonly HttpField[], allowed: ReadonlySet<string>): Split | string {
  const pseudo = new Map<string, string>();
  const fields: HttpField[] = [];
  let contentLength: number | undefined;
  for (const field of section) {
    const { name, value } = field;
    if (hasControl(value)) return 'a field value has a control character';
    if (name.startsWith(':')) {
      if (fields.length > 0) return 'a pseudo-header field follows a field';
      if (!allowed.has(name)) return 'a pseudo-header field is not defined here';
      if (pseudo.has(name)) return 'a pseudo-header field is repeated';
      pseudo.set(name, value);
      continue;
    }
    if (!FIELD_NAME.test(name)) return 'a field name is no token in lower case';
    if (CONNECTION_SPECIFIC.has(name)) return 'a field is specific to a connection';
    if (name === 'te' && value !== 'trailers') return 'the te field is not trailers';
    if (name === 'content-length') {
      const length = DIGITS.test(value) ? Number(value) : undefined;
      if (length === undefined) return 'the content-length is invalid';
      if (contentLength !== undefined && length !== contentLength) {
        return 'content-length is contradictory';
      }
      contentLength = length;
    }
    fields.push(field);
  }
  return { pseudo, fields, contentLength };
}

function requestProblem(
  pseudo: ReadonlyMap<string, string>,
  fields: readonly HttpField[],
): string | undefined {
  const method = pseudo.get(':method');
  if (method === undefined || !isToken(method)) return 'the method is missing or invalid';
  const authority = pseudo.get(':authority');
  const scheme = pseudo.get(':scheme');
  const path = pseudo.get(':path');
  const extended = pseudo.has(':protocol');
  if (extended && method !== 'CONNECT') return ':protocol without CONNECT';
  if (method === 'CONNECT' && !extended) {
    // RFC 9114 §4.4.
    if (scheme !== undefined || path !== undefined) return 'CONNECT with a scheme or a path';
    return authority ? undefined : 'CONNECT without an authority';
  }
  if (scheme === undefined || !SCHEME.test(scheme)) return 'the scheme is missing or invalid';
  if (path === undefined) return 'the path is missing';
  if (!/^https?$/i.test(scheme)) return undefined;
  if (!path.startsWith('/') && !(path === '*' && method === 'OPTIONS'))
    return 'the path is invalid';
  return authorityProblem(authority, fields);
}

/** Checks that there is one of `:authority` and `host`, or both with the same value (RFC 9114 §4.3.1). */
function authorityProblem(
  authority: string | undefined,
  fields: readonly HttpField[],
): string | undefined {
  const hosts = fields.filter(({ name }) => name === 'host');
  if (hosts.length > 1) return 'the host field is repeated';
  const host = hosts[0]?.value;
  const effective = authority ?? host;
  if (!effective) return 'the authority is missing';
  if (effective.includes('@')) return 'the authority has user information';
  if (host !== undefined && host !== effective) return 'the authority and the host field differ';
  return undefined;
}
