import type { QuicConnection, QuicStream } from '../quic/contract.ts';
import type { RequestHead, Response } from './message.ts';

/** What the protocol above decides. Neither function may throw. */
export interface Http3ServerHandlers {
  /**
   * The response to a request. It is asked for when the header section is complete, or, when the
   * request declares a body, when that is.
   */
  readonly respond: (request: RequestHead) => Response | Promise<Response>;
  /**
   * Offers a bidirectional stream whose first varint, a frame type in HTTP/3, is `type`. The handler
   * that returns true owns the stream, which continues behind that varint. With false, and without
   * this function, it is a request stream.
   */
  readonly takeStream?: ((type: number, stream: QuicStream) => boolean) | undefined;
}

/**
 * The server's side of HTTP/3 (RFC 9114) on one QUIC connection. Opens its control and QPACK streams
 * at once; a violation closes the connection with the code of the RFC.
 */
export class Http3Server {
  constructor(connection: QuicConnection, handlers: Http3ServerHandlers) {
    void connection;
    void handlers;
  }

  /** Takes a stream that the client opened (`QuicHandlers.onStream`). Never throws. */
  accept(stream: QuicStream): void {
    void stream;
  }

  /** Announces that no further request is served (RFC 9114 §5.2); streams taken over go on. */
  goAway(): void {}
}
