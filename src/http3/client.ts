import type { QuicConnection, QuicStream } from '../quic/contract.ts';
import type { RequestHead, ResponseHead } from './message.ts';

/**
 * The client's side of HTTP/3 (RFC 9114) on one QUIC connection, as far as requests without a body
 * and responses whose body does not matter need it. Opens its control stream at once.
 */
export class Http3Client {
  constructor(connection: QuicConnection) {
    void connection;
  }

  /** Takes a stream that the server opened (`QuicHandlers.onStream`). Never throws. */
  accept(stream: QuicStream): void {
    void stream;
  }

  /**
   * Sends a request without a body and resolves with the head of the final response, whose body is
   * dropped.
   * @throws {ProtocolError} when the response is invalid or missing, the cause when the connection or
   *   the stream fails, the reason of `signal`.
   */
  request(request: RequestHead, signal?: AbortSignal): Promise<ResponseHead> {
    void request;
    void signal;
    return Promise.reject(new Error('not yet'));
  }
}
