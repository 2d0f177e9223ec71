import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { WeirError, type WeirErrorOptions } from '@weir/base';
import { GrowingBytes } from '@weir/base/bytes';
import { systemClock } from '@weir/io/time';
import { SseStream } from './event-stream.ts';

/** Default maximum bytes of a body. */
const MAX_BODY = 256 << 10;

/** Maximum bytes of events that may wait for a client. */
const MAX_BACKLOG = 1 << 20;

const EVENT_HEADERS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };

type Headers = Readonly<Record<string, string>>;

/** A request that fails with an error response: `code` and `message` are sent to the client. */
export class LocalHttpError extends WeirError {
  /** HTTP status, 4xx or 5xx. */
  readonly status: number;
  readonly headers: Headers;

  constructor(
    status: number,
    code: string,
    message: string,
    options?: WeirErrorOptions & { readonly headers?: Headers },
  ) {
    super(code, message, options);
    this.status = status;
    this.headers = options?.headers ?? {};
  }
}

/** The path and the query of a request target. */
export function targetOf(url = ''): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...query] = url.split('?');
  return { path, query: new URLSearchParams(query.join('?')) };
}

/** One request that has passed the guard, and its response. */
export class LocalExchange {
  readonly method: string;
  /** The path of the request's target, undecoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Headers of every response. */
  readonly #common: Headers;
  readonly #trust: () => void;

  /** @param trust marks the connection as trusted */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    common: Headers,
    trust: () => void,
  ) {
    const { method = '', url } = request;
    const { path, query } = targetOf(url);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = request.headers;
    this.signal = gone.signal;
    this.request = request;
    this.response = response;
    this.#common = common;
    this.#trust = trust;
  }

  /**
   * Marks the connection as trusted, because its client has shown a secret of this server: it is not evicted for
   * others.
   */
  trust(): void {
    this.#trust();
  }

  /** Reads the body. @throws {LocalHttpError} 413 when it is longer than `most` bytes */
  async readBody(most = MAX_BODY): Promise<Buffer> {
    const tooLong = (): LocalHttpError =>
      new LocalHttpError(413, 'too-long', `the body is longer than ${most} bytes`, {
        headers: { Connection: 'close' },
      });
    if (Number(this.headers['content-length'] ?? 0) > most) throw tooLong();
    const body = new GrowingBytes();
    for await (const chunk of this.request as AsyncIterable<Buffer>) {
      if (body.length + chunk.length > most) throw tooLong();
      body.append(chunk);
    }
    return body.buffer;
  }

  /** Reads the body as JSON. @throws {LocalHttpError} 413, 415 for another type, 400 when it is not JSON */
  async readJson(most = MAX_BODY): Promise<unknown> {
    if (!/^application\/json[ \t]*(?:;|$)/i.test(this.headers['content-type'] ?? '')) {
      throw new LocalHttpError(415, 'not-json', 'expected Content-Type: application/json');
    }
    const body = await this.readBody(most);
    try {
      return JSON.parse(body.toString());
    } catch (error) {
      throw new LocalHttpError(400, 'not-json', 'the body is not JSON', { cause: error });
    }
  }

  /** Sends the response. */
  send(status: number, body: string | Uint8Array = '', headers: Headers = {}): void {
    if (this.response.destroyed) return;
    const length = status === 204 ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    this.response.writeHead(status, { ...this.#common, ...headers, ...length });
    this.response.end(this.method === 'HEAD' ? undefined : body);
  }

  sendJson(status: number, value: unknown, headers: Headers = {}): void {
    const type = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    this.send(status, JSON.stringify(value), { ...type, ...headers });
  }

  /**
   * Starts a response with a stream of events. A browser that is disconnected for its backlog reconnects and requests
   * whole values.
   */
  openEvents(): SseStream {
    const headers = { ...this.#common, ...EVENT_HEADERS };
    return new SseStream(this.response, systemClock, { headers, maxBacklog: MAX_BACKLOG });
  }
}
