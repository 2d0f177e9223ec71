import { WeirError } from '@weir/base';
import type { SseStream } from '../../local-http/event-stream.ts';
import { ControlError, type ControlErrorCode } from '../contract.ts';

/** A request that cannot be parsed: 400 with the message as JSON. */
export class BadRequest extends WeirError {
  constructor(message: string) {
    super('bad_request', message);
  }
}

/** An invalid path parameter: 400 in plain text, before the handler runs. */
export class BadPath extends WeirError {
  constructor(message: string) {
    super('bad_path', `Invalid URL: ${message}`);
  }
}

/** A resource that does not exist: 404 with the message as JSON. */
export class NotFound extends WeirError {
  constructor(message: string) {
    super('not_found', message);
  }
}

export type Headers = Readonly<Record<string, string>>;

/** A complete response. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** An endless response: `open` is called with the stream, after its headers are sent. */
export interface Streaming {
  readonly open: (stream: SseStream) => void;
}

const EMPTY = Buffer.alloc(0);

/** A response without a body. */
export const empty = (status: number, headers: Headers = {}): ApiResponse => ({
  status,
  headers,
  body: EMPTY,
});

/** @param text serialised JSON */
export const jsonText = (
  status: number,
  text: string | Buffer,
  headers: Headers = {},
): ApiResponse => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: typeof text === 'string' ? Buffer.from(text) : text,
});

export const json = (status: number, value: unknown, headers?: Headers): ApiResponse =>
  jsonText(status, JSON.stringify(value), headers);

const failure = (status: number, error: string, headers?: Headers): ApiResponse =>
  json(status, { error }, headers);

const plain = (status: number, text: string): ApiResponse => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
});

export const unauthorized = (): ApiResponse =>
  failure(401, 'a valid bearer token is required', { 'WWW-Authenticate': 'Bearer' });

export const misdirected = (): ApiResponse =>
  failure(421, 'this API answers to an IP address or localhost only; set a secret to use a name');

export const foreignOrigin = (): ApiResponse =>
  failure(403, 'this API does not answer to web pages; set a secret to use it from one');

/**
 * The header with the entity tag of the current file, in responses to `GET /v1/routes` and `PUT /v1/routes/{group}`.
 */
export const withEtag = (etag: string): Headers => ({ ETag: etag });

const CONTROL_STATUS: Readonly<Record<ControlErrorCode, number>> = {
  unknown_group: 404,
  invalid: 422,
  stale: 409,
  failed: 500,
};

/** The response to a request that failed with an expected error; `undefined` for a defect. */
export function responseTo(error: unknown): ApiResponse | undefined {
  if (error instanceof BadPath) return plain(400, error.message);
  if (error instanceof BadRequest) return failure(400, error.message);
  if (error instanceof NotFound) return failure(404, error.message);
  if (error instanceof ControlError) {
    const { code, message, etag } = error;
    return failure(CONTROL_STATUS[code], message, etag === undefined ? {} : withEtag(etag));
  }
  return undefined;
}

export const internalError = (reason: string): ApiResponse =>
  failure(500, `internal error: ${reason}`);
