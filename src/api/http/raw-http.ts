import { STATUS_CODES } from 'node:http';
import { trimBlanks } from '../../http/fields/trim-blanks.ts';
import { type ApiResponse, json } from './response.ts';
import type { ApiRequestHead, Front } from './front.ts';
import { codeOf } from '../../errors.ts';

/*
 * HTTP without Node's parser, for requests that it rejects: an unknown method, a path with unexpected
 * bytes, or no HTTP at all.
 */

/** A response after which the connection is closed. */
export function rawResponse({ status, headers, body }: ApiResponse): Buffer {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

const HEAD_END = '\r\n\r\n';
/** RFC 9112 §3, with the tokens of RFC 9110 §5.6.2. */
const REQUEST_LINE = /^(?<method>[\w!#$%&'*+.^`|~-]+) (?<target>\S+) HTTP\/1\.[01]$/;
const FIELD = /^(?<name>[\w!#$%&'*+.^`|~-]+):(?<value>[^\r\n\0]*)$/;

/**
 * Reads the header section of the request around `offset`, where the parser rejected the first line.
 * `undefined` when it is incomplete or invalid here as well.
 */
export function parseHead(received: Buffer, offset: number): ApiRequestHead | undefined {
  const start = offset === 0 ? 0 : received.lastIndexOf('\n', offset - 1) + 1;
  const end = received.indexOf(HEAD_END, start);
  if (end < 0) return undefined;
  const [first = '', ...lines] = received.toString('latin1', start, end).split('\r\n');
  const { method, target } = REQUEST_LINE.exec(first)?.groups ?? {};
  if (method === undefined || target === undefined) return undefined;
  const fields = new Map<string, string>();
  for (const line of lines) {
    const { name, value } = FIELD.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, trimBlanks(value));
  }
  return {
    method,
    target,
    host: fields.get('host'),
    origin: fields.get('origin'),
    authorization: fields.get('authorization'),
  };
}

const rejection = (status: number, error: string): ApiResponse => json(status, { error });

const NOT_HTTP = rejection(400, 'the request is not HTTP/1.1');

const REJECTIONS: ReadonlyMap<string, ApiResponse> = new Map([
  ['HPE_HEADER_OVERFLOW', rejection(431, 'the head of the request is too long')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', rejection(413, 'the chunk extensions are too long')],
  ['ERR_HTTP_REQUEST_TIMEOUT', rejection(408, 'the request took too long to arrive')],
]);

/**
 * The response to input that Node's parser rejects. Input in the form of a request, with an unknown
 * method or unexpected bytes in its path, is judged like any other request, as far as that needs no
 * handler. The rest is not HTTP and needs no authorisation.
 */
export function parserRejection(error: Error, front: Front): ApiResponse {
  return REJECTIONS.get(codeOf(error) ?? '') ?? judge(error, front) ?? NOT_HTTP;
}

function judge(error: Error, front: Front): ApiResponse | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const offset = 'bytesParsed' in error ? Number(error.bytesParsed) : 0;
  const head = parseHead(error.rawPacket, offset);
  const verdict = head && front.judge(head);
  return verdict?.kind === 'response' ? verdict.response : undefined;
}
