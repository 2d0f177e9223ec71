import type { QuicConnection, QuicStream } from '../quic/contract.ts';
import { TRUNCATED } from '../quic/wire/varint.ts';
import { abandon, Http3Connection } from './connection.ts';
import { Http3ErrorCode, type Http3Error } from './errors.ts';
import { frameHead, FrameType } from './frames.ts';
import type { RequestHead, Response } from './message.ts';
import { encodeHeaderBlock } from './qpack/header-block.ts';
import { RequestReader } from './request-stream.ts';
import { readFirstVarint } from './stream-types.ts';

/** What the protocol above decides. Neither function may throw. */
export interface Http3ServerHandlers {
  /**
   * The response to a request. It is asked for when the header section is complete and, when the
   * request declares a body, when that has arrived or has turned out longer than BODY_LIMIT.
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
  readonly #shared: Http3Connection;
  readonly #handlers: Http3ServerHandlers;
  /** The id behind the newest request: what GOAWAY announces. */
  #nextId = 0;
  #goingAway = false;

  constructor(connection: QuicConnection, handlers: Http3ServerHandlers) {
    this.#handlers = handlers;
    this.#shared = new Http3Connection(connection, 'server');
  }

  /** Takes a stream that the client opened (`QuicHandlers.onStream`). Never throws. */
  accept(stream: QuicStream): void {
    if (!stream.bidirectional) {
      this.#shared.acceptUnidirectional(stream);
      return;
    }
    // Its link fails when the client resets it or the connection ends: then the request is over.
    this.#serve(stream).catch(() => abandon(stream, Http3ErrorCode.H3_REQUEST_CANCELLED));
  }

  /** Announces that no further request is served (RFC 9114 §5.2); streams taken over go on. */
  goAway(): void {
    if (this.#goingAway) return;
    this.#goingAway = true;
    this.#shared.sendGoAway(this.#nextId);
  }

  async #serve(stream: QuicStream): Promise<void> {
    const first = await readFirstVarint(stream);
    const type = first.bytes.subarray(0, first.size);
    if (first.bytes.length > first.size) stream.unread(first.bytes.subarray(first.size));
    if (first.value !== TRUNCATED && this.#handlers.takeStream?.(first.value, stream)) return;
    if (this.#goingAway && stream.id >= this.#nextId) {
      abandon(stream, Http3ErrorCode.H3_REQUEST_REJECTED);
      return;
    }
    this.#nextId = Math.max(this.#nextId, stream.id + 4);
    const reader = new RequestReader(this.#shared.budget);
    try {
      await this.#serveRequest(stream, reader, type);
    } finally {
      reader.release();
    }
  }

  /** Reads a request to its end, and responds to it meanwhile. */
  async #serveRequest(stream: QuicStream, reader: RequestReader, type: Uint8Array): Promise<void> {
    let response: Promise<void> | undefined;
    let error: Http3Error | undefined;
    for (
      let chunk: Uint8Array | undefined = type;
      chunk !== undefined;
      chunk = await stream.read()
    ) {
      error = reader.feed(chunk);
      if (error !== undefined) break;
      const { head } = reader;
      if (head !== undefined && (reader.hasDeclaredBody || reader.isBodyTooLong)) {
        response ??= this.#respond(stream, head);
      }
      if (reader.isBodyTooLong) {
        await response;
        // The response is complete, so that the rest of the request is of no use (§4.1).
        stream.stopSending(Http3ErrorCode.H3_NO_ERROR);
        return;
      }
    }
    error ??= reader.end();
    if (error !== undefined) this.#shared.failRequest(stream, error);
    await response;
  }

  /** Never rejects: a stream that cannot be written any more has no use for a response. */
  async #respond(stream: QuicStream, request: RequestHead): Promise<void> {
    try {
      const response = await this.#handlers.respond(request);
      await stream.writeAll(encodeResponse(request.method, response));
      await stream.closeWrite();
    } catch {
      abandon(stream, Http3ErrorCode.H3_INTERNAL_ERROR);
    }
  }
}

/** The frames of a response: without a body to HEAD, and for statuses that have none. */
function encodeResponse(method: string, { status, fields, body }: Response): Uint8Array[] {
  const block = encodeHeaderBlock([{ name: ':status', value: String(status) }, ...fields]);
  const head = [frameHead(FrameType.HEADERS, block.length), block];
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || body.length === 0;
  return isEmpty ? head : [...head, frameHead(FrameType.DATA, body.length), body];
}
