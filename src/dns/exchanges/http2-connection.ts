import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../net/time/clock.ts';
import { abortedDial, ProtocolError } from '../../net/errors.ts';
import { ConnectionLostError } from './exchange.ts';
import {
  readResponse,
  requestHeaders,
  type DohResponse,
  type DohTarget,
  type HttpConnection,
} from './http-connection.ts';
import { Liveness } from './liveness.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** DNS over HTTP/2: each question is a stream of one connection. */
export class Http2Connection implements HttpConnection {
  readonly #session: ClientHttp2Session;
  readonly #target: DohTarget;
  readonly #liveness: Liveness;
  readonly #onEnd: () => void;
  #ended = false;

  /** `onEnd` is called once, when the connection takes no more questions. */
  constructor(socket: TLSSocket, target: DohTarget, clock: Clock, onEnd: () => void) {
    this.#target = target;
    this.#onEnd = onEnd;
    this.#liveness = new Liveness(clock, (cause) => this.end(cause));
    // The authority is given with every request; the name here is never dialled.
    this.#session = connect('https://dns.invalid', {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    this.#session.on('error', (error) => this.end(error));
    this.#session.on('close', () => this.end());
    // Pending streams may still complete; Node closes the session afterwards.
    this.#session.on('goaway', () => this.#retire());
  }

  async post(message: Buffer, signal: AbortSignal): Promise<DohResponse> {
    const stream = this.#request(message);
    this.#liveness.asked();
    try {
      return await unlessAborted(this.#response(stream), signal, abortedDial);
    } finally {
      this.#liveness.settled();
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  end(cause?: unknown): void {
    this.#retire();
    this.#session.destroy(cause instanceof Error ? cause : undefined);
  }

  #retire(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#liveness.stop();
    this.#onEnd();
  }

  #request(message: Buffer): ClientHttp2Stream {
    if (this.#ended) throw new ConnectionLostError();
    try {
      const stream = this.#session.request({
        ...requestHeaders(message),
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_SCHEME]: 'https',
        [constants.HTTP2_HEADER_AUTHORITY]: this.#target.host,
        [constants.HTTP2_HEADER_PATH]: this.#target.path,
      });
      stream.end(message);
      return stream;
    } catch (error) {
      throw new ConnectionLostError(error);
    }
  }

  async #response(stream: ClientHttp2Stream): Promise<DohResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingHttpHeaders>();
    stream.on('response', resolve);
    stream.on('error', reject);
    // A server may end a stream with neither an error nor a response.
    stream.on('close', () => reject(new ConnectionLostError()));
    try {
      const headers = await promise;
      this.#liveness.heard();
      return await readResponse(Number(headers[':status']), headers, stream);
    } catch (error) {
      throw error instanceof ProtocolError ? error : new ConnectionLostError(error);
    }
  }
}
