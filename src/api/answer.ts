import { ControlError, type ControlErrorCode } from './contract.ts';
import type { EventStream } from './event-stream.ts';
import { BadPath, BadRequest, NotFound } from './rejections.ts';

export type Headers = Readonly<Record<string, string>>;

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** An answer that goes on: `open` is given the stream once its head is due. */
export interface Streaming {
  readonly open: (stream: EventStream) => void;
}

const EMPTY = Buffer.alloc(0);

/** An answer without a body. */
export const empty = (status: number, headers: Headers = {}): Answer => ({
  status,
  headers,
  body: EMPTY,
});

/** @param text JSON, already written out. */
export const jsonText = (status: number, text: string | Buffer, headers: Headers = {}): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: typeof text === 'string' ? Buffer.from(text) : text,
});

export const json = (status: number, value: unknown, headers?: Headers): Answer =>
  jsonText(status, JSON.stringify(value), headers);

const failure = (status: number, error: string, headers?: Headers): Answer =>
  json(status, { error }, headers);

const plain = (status: number, text: string): Answer => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
});

export const unauthorized = (): Answer =>
  failure(401, 'a valid bearer token is required', { 'WWW-Authenticate': 'Bearer' });

export const misdirected = (): Answer =>
  failure(421, 'this API answers to an IP address or localhost only; set a secret to use a name');

export const foreignOrigin = (): Answer =>
  failure(403, 'this API does not answer to web pages; set a secret to use it from one');

/** What `GET /v1/routes` and `PUT /v1/routes/{group}` say the file is now. */
export const withEtag = (etag: string): Headers => ({ ETag: etag });

const CONTROL_STATUS: Readonly<Record<ControlErrorCode, number>> = {
  unknown_group: 404,
  invalid: 422,
  stale: 409,
  failed: 500,
};

/** The answer to a request that a named error ended; `undefined` for a defect of ours. */
export function answerTo(error: unknown): Answer | undefined {
  if (error instanceof BadPath) return plain(400, error.message);
  if (error instanceof BadRequest) return failure(400, error.message);
  if (error instanceof NotFound) return failure(404, error.message);
  if (error instanceof ControlError) {
    const { code, message, etag } = error;
    return failure(CONTROL_STATUS[code], message, etag === undefined ? {} : withEtag(etag));
  }
  return undefined;
}

export const internalError = (reason: string): Answer => failure(500, `internal error: ${reason}`);
