import { valuesOf, parseRequestHead, MessageError } from '@weir/http/http1';
import { type ApiResponse, json } from './response.ts';
import type { ApiRequestHead, RequestFilter } from './request-filter.ts';
import { codeOf } from '@weir/base';

/*
 * HTTP without Node's parser, for requests that it rejects: an unknown method, a path with unexpected bytes, or input
 * that is not HTTP.
 */

const HEAD_END = '\r\n\r\n';

/** Node's parser may have rejected bytes of the target; the response still depends on the rest of it. */
const ANY_TARGET = /^\S+$/;

/**
 * Parses the header section of the request around `offset`, where the parser rejected the first line. `undefined` when
 * it is incomplete, or invalid here as well.
 */
export function parseHead(received: Buffer, offset: number): ApiRequestHead | undefined {
  const start = offset === 0 ? 0 : received.lastIndexOf('\n', offset - 1) + 1;
  const end = received.indexOf(HEAD_END, start);
  if (end < 0) return undefined;
  const bytes = received.subarray(start, end + HEAD_END.length);
  try {
    const { method, target, fields } = parseRequestHead(bytes, Infinity, ANY_TARGET);
    const first = (key: string): string | undefined => valuesOf(fields, key)[0];
    return {
      method,
      target,
      host: first('host'),
      origin: first('origin'),
      fetchSite: first('sec-fetch-site'),
      authorization: first('authorization'),
    };
  } catch (error) {
    if (error instanceof MessageError) return undefined;
    throw error;
  }
}

const rejection = (status: number, error: string): ApiResponse => json(status, { error });

const NOT_HTTP = rejection(400, 'the request is not HTTP/1.1');

const REJECTIONS: ReadonlyMap<string, ApiResponse> = new Map([
  ['HPE_HEADER_OVERFLOW', rejection(431, 'the head of the request is too long')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', rejection(413, 'the chunk extensions are too long')],
  ['ERR_HTTP_REQUEST_TIMEOUT', rejection(408, 'the request took too long to arrive')],
]);

/**
 * The response to input that Node's parser rejects. Input in the form of a request, with an unknown method or
 * unexpected bytes in its path, is handled like any other request, as far as that needs no handler. The rest is not
 * HTTP and needs no authorisation.
 */
export function parserRejection(error: Error, filter: RequestFilter): ApiResponse {
  return REJECTIONS.get(codeOf(error) ?? '') ?? judge(error, filter) ?? NOT_HTTP;
}

function judge(error: Error, filter: RequestFilter): ApiResponse | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const offset = 'bytesParsed' in error ? Number(error.bytesParsed) : 0;
  const head = parseHead(error.rawPacket, offset);
  const verdict = head && filter.judge(head);
  return verdict?.kind === 'response' ? verdict.response : undefined;
}
