import { codeOf } from '../errors.ts';
import { json, type Answer } from './answer.ts';
import type { Front } from './front.ts';
import { parseHead } from './raw-http.ts';

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
