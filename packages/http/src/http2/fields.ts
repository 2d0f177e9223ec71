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
} from '../fields/field.ts';
import { streamError, type Http2Error } from './errors.ts';

/** Matches leading or trailing whitespace, which values must not have (RFC 9113 §8.2.1). */
const PADDED = /^[ \t]|[ \t]$/;

/** Pseudo-header fields of requests without `:protocol` (RFC 8441 §4), which requires a setting that is never sent. */
const PSEUDO: ReadonlySet<string> = new Set(
  [...REQUEST_PSEUDO].filter((name) => name !== ':protocol'),
);

const malformed = (reason: string): Http2Error => streamError('PROTOCOL_ERROR', reason);

/** Checks the header list of a request (RFC 9113 §8.2, §8.3.1). */
export function checkRequest(fields: readonly HttpField[]): Http2Error | undefined {
  const problem = problemOf(fields, PSEUDO);
  if (problem !== undefined) return malformed(problem);
  const method = valueOf(fields, ':method');
  if (method === undefined || method === '') return malformed('the method is missing');
  if (method === 'CONNECT') return connectProblem(fields);
  if (!valueOf(fields, ':scheme')) return malformed('the scheme is missing');
  if (!valueOf(fields, ':path')) return malformed('the path is missing');
  return undefined;
}

/** Checks a CONNECT request, which has an authority but no scheme and path (§8.5). */
function connectProblem(fields: readonly HttpField[]): Http2Error | undefined {
  if (!valueOf(fields, ':authority')) return malformed('CONNECT without an authority');
  const isExtended = valueOf(fields, ':scheme') ?? valueOf(fields, ':path');
  return isExtended === undefined ? undefined : malformed('CONNECT with a scheme or a path');
}

/** Checks the header list of a response (§8.3.2). Returns its status, or the error of a malformed list. */
export function checkResponse(fields: readonly HttpField[]): number | Http2Error {
  const problem = problemOf(fields, RESPONSE_PSEUDO);
  if (problem !== undefined) return malformed(problem);
  const status = valueOf(fields, ':status') ?? '';
  // Switching protocols does not exist in HTTP/2 (§8.6).
  if (!STATUS.test(status) || status === '101')
    return malformed('the status is missing or invalid');
  return Number(status);
}

/** Checks a trailer section, which has no pseudo-header fields (§8.1). */
export function checkTrailers(fields: readonly HttpField[]): Http2Error | undefined {
  const problem = problemOf(fields, NO_PSEUDO);
  return problem === undefined ? undefined : malformed(problem);
}

function problemOf(fields: readonly HttpField[], allowed: ReadonlySet<string>): string | undefined {
  let pseudo: Set<string> | undefined;
  let isPastPseudo = false;
  for (const { name, value } of fields) {
    if (hasControl(value) || PADDED.test(value)) return 'a field has an invalid value';
    if (name.startsWith(':')) {
      pseudo ??= new Set();
      if (isPastPseudo) return 'a pseudo-header field follows another field';
      if (!allowed.has(name)) return 'a pseudo-header field is unknown';
      if (pseudo.has(name)) return 'a pseudo-header field is repeated';
      pseudo.add(name);
      continue;
    }
    isPastPseudo = true;
    if (!FIELD_NAME.test(name)) return 'a field has an invalid name';
    if (CONNECTION_SPECIFIC.has(name)) return 'a field describes the connection';
    if (name === 'te' && value.toLowerCase() !== 'trailers') return 'te is not trailers';
  }
  return undefined;
}
