import { asError } from '@weir/base';
import { ProtocolError } from '@weir/io';
import type { QuicConnection, QuicStream } from '@weir/quic';
import { abandon, Http3Connection } from './connection.ts';
import { connectionError, Http3ErrorCode, http3ErrorName, type Http3Error } from './errors.ts';
import { frameHead, FrameType } from './frames.ts';
import type { Http3Request, Http3ResponseHead } from './message.ts';
import { encodeHeaderBlock } from './qpack.ts';
import { Http3ResponseReader } from './request-stream.ts';

/**
 * An HTTP/3 client (RFC 9114) on one QUIC connection, for requests without a body whose response bodies are discarded.
 * Opens its control stream at once.
 */
export class Http3Client {
  readonly #connection: QuicConnection;
  readonly #shared: Http3Connection;

  constructor(connection: QuicConnection) {
    this.#connection = connection;
    this.#shared = new Http3Connection(connection, 'client');
  }

  /** Called when another protocol uses the connection from now on: see `Http3Connection.release`. */
  release(): void {
    this.#shared.release();
  }

  /** Accepts a stream that the server opened (`QuicHandlers.onStream`). Never throws. */
  accept(stream: QuicStream): void {
    if (stream.bidirectional) {
      // No extension that allows bidirectional streams of the server was negotiated (§6.1).
      this.#shared.fail(
        connectionError('H3_STREAM_CREATION_ERROR', 'a request stream from a server'),
      );
      return;
    }
    this.#shared.acceptUnidirectional(stream);
  }

  /**
   * Sends a request without a body and resolves to the head of the final response, whose body is discarded.
   * @throws {ProtocolError} if the response is invalid or missing, the cause if the connection or the stream fails, the
   * reason of `signal`.
   */
  async request(request: Http3Request, signal?: AbortSignal): Promise<Http3ResponseHead> {
    const stream = await this.#connection.openStream('bidirectional', signal);
    const reader = new Http3ResponseReader(this.#shared.budget);
    try {
      await stream.writeOutput(encodeRequest(request));
      await stream.closeWrite();
      const head = await this.#readHead(stream, reader, signal);
      // The request has succeeded; a later failure has no effect.
      this.#drop(stream, reader).catch(() => undefined);
      return head;
    } catch (error) {
      reader.release();
      abandon(stream, Http3ErrorCode.H3_REQUEST_CANCELLED);
      throw asError(error);
    }
  }

  async #readHead(
    stream: QuicStream,
    reader: Http3ResponseReader,
    signal: AbortSignal | undefined,
  ): Promise<Http3ResponseHead> {
    for (;;) {
      const chunk = await stream.read(signal);
      const error = chunk === undefined ? reader.end() : reader.feed(chunk);
      if (error !== undefined) throw this.#failed(stream, error);
      if (reader.head !== undefined) return reader.head;
    }
  }

  /** Reads the rest of a response, up to BODY_LIMIT, and releases its share of the budget. */
  async #drop(stream: QuicStream, reader: Http3ResponseReader): Promise<void> {
    try {
      while (!reader.isBodyTooLong) {
        const chunk = await stream.read();
        const error = chunk === undefined ? reader.end() : reader.feed(chunk);
        if (error !== undefined) {
          this.#shared.failRequest(stream, error);
          return;
        }
        if (chunk === undefined) return;
      }
      stream.stopSending(Http3ErrorCode.H3_REQUEST_CANCELLED);
    } finally {
      reader.release();
    }
  }

  #failed(stream: QuicStream, error: Http3Error): ProtocolError {
    this.#shared.failRequest(stream, error);
    return new ProtocolError(
      `the server's response is invalid: ${error.reason} (${http3ErrorName(error.code)})`,
    );
  }
}

function encodeRequest({ method, scheme, authority, path, fields }: Http3Request): Uint8Array[] {
  const block = encodeHeaderBlock([
    { name: ':authority', value: authority },
    { name: ':method', value: method },
    { name: ':path', value: path },
    { name: ':scheme', value: scheme },
    ...fields,
  ]);
  return [frameHead(FrameType.HEADERS, block.length), block];
}
