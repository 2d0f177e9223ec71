import { STATUS_CODES } from 'node:http';
import { trimBlanks } from '../net/trim-blanks.ts';
import { type Answer, json } from './answer.ts';
import type { RequestHead, Front } from './front.ts';
import { codeOf } from '../errors.ts';

/*
 * HTTP by hand, for what Node's parser gives up on: a method or a path that it does not take, and
 * requests that are none.
 */

/** An answer after which the connection is closed. */
export function rawAnswer({ status, headers, body }: Answer): Buffer {
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
 * Reads the head of the request around `offset` of what was received, where the parser gave up on its
 * first line. `undefined` when it is not complete, or no request either.
 */
export function parseHead(received: Buffer, offset: number): RequestHead | undefined {
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

const refusal = (status: number, error: string): Answer => json(status, { error });

const NO_REQUEST = refusal(400, 'the request is not HTTP/1.1');

const REFUSALS: ReadonlyMap<string, Answer> = new Map([
  ['HPE_HEADER_OVERFLOW', refusal(431, 'the head of the request is too long')],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', refusal(413, 'the chunk extensions are too long')],
  ['ERR_HTTP_REQUEST_TIMEOUT', refusal(408, 'the request took too long to arrive')],
]);

/**
 * The answer to what Node's parser refuses. What still has the form of a request, with a method that
 * the parser does not know or bytes in its path that it does not take, is judged like any other, as
 * far as that needs no handler. The rest is no request, so there is nothing to authorise.
 */
export function parserRefusal(error: Error, front: Front): Answer {
  return REFUSALS.get(codeOf(error) ?? '') ?? judge(error, front) ?? NO_REQUEST;
}

function judge(error: Error, front: Front): Answer | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const offset = 'bytesParsed' in error ? Number(error.bytesParsed) : 0;
  const head = parseHead(error.rawPacket, offset);
  const verdict = head && front.judge(head);
  return verdict?.kind === 'answer' ? verdict.answer : undefined;
}
