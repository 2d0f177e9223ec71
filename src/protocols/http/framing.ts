import type { Framing } from './body.ts';
import { MessageError } from './errors.ts';
import { listOf, valuesOf, type Fields } from './fields.ts';
import type { RequestHead, ResponseHead } from './head.ts';

/**
 * How long a request body is (RFC 9112 §6.3). Everything that two readers could understand
 * differently is refused.
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
  // RFC 9112 §6.1: an HTTP/1.0 sender does not know Transfer-Encoding, so somebody added it.
  if (version === '1.0') throw new MessageError(400, 'Transfer-Encoding in an HTTP/1.0 request');
  if (codings.length !== 1 || codings[0] !== 'chunked') {
    throw new MessageError(400, 'a transfer coding other than chunked');
  }
  return { kind: 'chunked' };
}

export interface ResponseFraming {
  readonly body: Framing;
  /** Whether the framing leaves no doubt about where the next response would begin. */
  readonly certain: boolean;
}

/**
 * How long a response body is (RFC 9112 §6.3). `method` is that of the request it answers.
 *
 * A response that has both lengths is read by its Transfer-Encoding, and its connection is not used
 * again.
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

/** Statuses that never have a body, whatever their header says. */
export const hasNoBody = (status: number): boolean =>
  status < 200 || status === 204 || status === 304;

/** The same length said several times is one length (RFC 9112 §6.3); different ones are an attack. */
function contentLength(fields: Fields): number | undefined {
  let length: number | undefined;
  for (const value of valuesOf(fields, 'content-length')) {
    for (const part of value.split(',')) {
      const digits = /^[ \t]*([0-9]+)[ \t]*$/.exec(part)?.[1];
      const number = Number(digits ?? Number.NaN);
      if (!Number.isSafeInteger(number)) throw new MessageError(400, 'Content-Length is no length');
      if (length !== undefined && length !== number) {
        throw new MessageError(400, 'several Content-Lengths that differ');
      }
      length = number;
    }
  }
  return length;
}

function transferCodings(fields: Fields): string[] | undefined {
  if (valuesOf(fields, 'transfer-encoding').length === 0) return undefined;
  return listOf(fields, 'transfer-encoding');
}
