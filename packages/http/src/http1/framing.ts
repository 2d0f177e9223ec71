import { MessageError } from './message-error.ts';
import { listOf, valuesOf, type FieldLines } from './fields.ts';
import type { RequestHead, ResponseHead } from './head.ts';

/** The way in which the length of a message body is determined (RFC 9112 §6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

/**
 * Determines the framing of a request body (RFC 9112 §6.3). Anything that recipients could interpret differently is
 * rejected.
 *
 * @throws {MessageError} 400.
 */
export function requestFraming({ fields, version }: RequestHead): Framing {
  const length = contentLength(fields);
  const codings = transferCodings(fields);
  if (codings === undefined) {
    return length === undefined || length === 0 ? { kind: 'none' } : { kind: 'length', length };
  }
  if (length !== undefined) {
    throw new MessageError(400, 'Content-Length and Transfer-Encoding in one request');
  }
  // RFC 9112 §6.1: Transfer-Encoding in an HTTP/1.0 request is a sign of request smuggling.
  if (version === '1.0') throw new MessageError(400, 'Transfer-Encoding in an HTTP/1.0 request');
  if (codings.length !== 1 || codings[0] !== 'chunked') {
    throw new MessageError(400, 'a transfer coding other than chunked');
  }
  return { kind: 'chunked' };
}

interface ResponseFraming {
  readonly body: Framing;
  /** Whether the framing determines where the next response begins. */
  readonly certain: boolean;
}

/**
 * Determines the framing of a response body (RFC 9112 §6.3). `method` is that of its request.
 *
 * If there are both Content-Length and Transfer-Encoding, the latter is used, and the connection is not reused.
 *
 * @throws {MessageError} 502.
 */
export function responseFraming(head: ResponseHead, method: string): ResponseFraming {
  if (method === 'HEAD' || hasNoBody(head.status)) return { body: { kind: 'none' }, certain: true };
  const codings = transferCodings(head.fields)?.filter((coding) => coding !== 'identity') ?? [];
  if (codings.length > 0) {
    if (codings.length !== 1 || codings[0] !== 'chunked') {
      throw new MessageError(502, 'a transfer coding other than chunked');
    }
    const alone = valuesOf(head.fields, 'content-length').length === 0;
    return { body: { kind: 'chunked' }, certain: alone && head.version === '1.1' };
  }
  const length = contentLength(head.fields);
  if (length === undefined) return { body: { kind: 'until-close' }, certain: false };
  return { body: length === 0 ? { kind: 'none' } : { kind: 'length', length }, certain: true };
}

/** Whether responses with this status never have a body, whatever their header fields. */
const hasNoBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

/**
 * Returns the content length. Repetitions of the same length are valid (RFC 9112 §6.3); different lengths are an
 * attack.
 */
function contentLength(fields: FieldLines): number | undefined {
  let length: number | undefined;
  for (const value of valuesOf(fields, 'content-length')) {
    for (const part of value.split(',')) {
      const digits = /^[ \t]*([0-9]+)[ \t]*$/.exec(part)?.[1];
      const number = Number(digits ?? Number.NaN);
      if (!Number.isSafeInteger(number)) throw new MessageError(400, 'invalid Content-Length');
      if (length !== undefined && length !== number) {
        throw new MessageError(400, 'different values of Content-Length');
      }
      length = number;
    }
  }
  return length;
}

function transferCodings(fields: FieldLines): string[] | undefined {
  if (valuesOf(fields, 'transfer-encoding').length === 0) return undefined;
  return listOf(fields, 'transfer-encoding');
}
