import type { HttpField } from '../fields/field.ts';
import type { QuicConnection, QuicStream } from '@weir/quic';
import { TRUNCATED } from '@weir/quic/varint';
import { abandon, Http3Connection } from './connection.ts';
import { Http3ErrorCode, type Http3Error } from './errors.ts';
import { frameHead, FrameType, readFirstVarint } from './frames.ts';
import type { Http3Request, Http3Response } from './message.ts';
import { encodeHeaderBlock } from './qpack.ts';
import { Http3RequestReader } from './request-stream.ts';

/** The user of a server. None of these functions may throw. */
export interface Http3ServerHandlers {
  /**
   * Returns the response to a request. Called when the header section is complete and the body that it
   * declares, if any, has arrived or has exceeded BODY_LIMIT.
   */
  readonly respond: (request: Http3Request) => Http3Response | Promise<Http3Response>;
  /**
   * Called with a bidirectional stream whose first varint, a frame type in HTTP/3, is `type`. If the function returns
   * true, it owns the stream, which continues after that varint; otherwise the stream is a request stream.
   */
  readonly takeStream?: ((type: number, stream: QuicStream) => boolean) | undefined;
  /**
   * Called when a stream was opened, possibly before any data has arrived. `giveUp` may be called while the stream is
   * read: a request whose header section is complete then gets its response and is not read further, and any other is
   * rejected. The returned function is called when the server no longer waits for the request, possibly twice.
   */
  readonly onWaiting?: ((giveUp: () => void) => () => void) | undefined;
}

/**
 * An HTTP/3 server (RFC 9114) on one QUIC connection. Opens its control and QPACK streams at once; a violation closes
 * the connection with the code of the RFC.
 */
export class Http3Server {
  readonly #shared: Http3Connection;
  readonly #handlers: Http3ServerHandlers;
  /** The id after that of the newest request, which GOAWAY announces. */
  #nextId = 0;
  #goingAway = false;

  constructor(connection: QuicConnection, handlers: Http3ServerHandlers) {
    this.#handlers = handlers;
    this.#shared = new Http3Connection(connection, 'server');
  }

  /** Called when another protocol uses the connection from now on: see `Http3Connection.release`. */
  release(): void {
    this.#shared.release();
  }

  /** Accepts a stream that the client opened (`QuicHandlers.onStream`). Never throws. */
  accept(stream: QuicStream): void {
    if (!stream.bidirectional) {
      this.#shared.acceptUnidirectional(stream);
      return;
    }
    // Fails if the client resets the stream or the connection ends, which ends the request.
    this.#serve(stream).catch(() => abandon(stream, Http3ErrorCode.H3_REQUEST_CANCELLED));
  }

  /** Announces that no further request is served (RFC 9114 §5.2); streams owned by `takeStream` continue. */
  goAway(): void {
    if (this.#goingAway) return;
    this.#goingAway = true;
    this.#shared.sendGoAway(this.#nextId);
  }

  async #serve(stream: QuicStream): Promise<void> {
    const wait: Wait = { reader: undefined, wasGivenUp: false, end: undefined };
    wait.end = this.#handlers.onWaiting?.(() => giveUp(stream, wait));
    try {
      const first = await readFirstVarint(stream);
      const typeBytes = first.bytes.subarray(0, first.size);
      if (first.bytes.length > first.size) stream.unread(first.bytes.subarray(first.size));
      if (first.value !== TRUNCATED && this.#handlers.takeStream?.(first.value, stream)) return;
      if (this.#goingAway && stream.id >= this.#nextId) {
        abandon(stream, Http3ErrorCode.H3_REQUEST_REJECTED);
        return;
      }
      this.#nextId = Math.max(this.#nextId, stream.id + 4);
      wait.reader = new Http3RequestReader(this.#shared.budget);
      await this.#serveRequest(stream, wait.reader, typeBytes, wait);
    } finally {
      wait.reader?.release();
      wait.end?.();
    }
  }

  /** Reads a request to its end, and responds as early as possible. */
  async #serveRequest(
    stream: QuicStream,
    reader: Http3RequestReader,
    typeBytes: Uint8Array,
    wait: Wait,
  ): Promise<void> {
    let response: Promise<void> | undefined;
    let error: Http3Error | undefined;
    for (
      let chunk: Uint8Array | undefined = typeBytes;
      chunk !== undefined;
      chunk = await readUnlessGivenUp(stream, wait)
    ) {
      error = reader.feed(chunk);
      if (error !== undefined) break;
      const { head } = reader;
      if (head !== undefined && (reader.hasDeclaredBody || reader.isBodyTooLong)) {
        response ??= this.#respond(stream, head);
      }
      if (reader.isBodyTooLong) {
        await response;
        // The response is complete, so that the rest of the request is not needed (§4.1).
        stream.stopSending(Http3ErrorCode.H3_NO_ERROR);
        return;
      }
    }
    wait.end?.();
    if (wait.wasGivenUp && reader.head !== undefined) {
      await (response ?? this.#respond(stream, reader.head));
      return;
    }
    error ??= reader.end();
    if (error !== undefined) this.#shared.failRequest(stream, error);
    await response;
  }

  /** Sends the response. Never rejects: a stream that cannot be written is abandoned. */
  async #respond(stream: QuicStream, request: Http3Request): Promise<void> {
    try {
      const response = await this.#handlers.respond(request);
      await stream.writeOutput(encodeResponse(request.method, response));
      await stream.closeWrite();
    } catch {
      abandon(stream, Http3ErrorCode.H3_INTERNAL_ERROR);
    }
  }
}

/** The state of a request that the server waits for. */
interface Wait {
  reader: Http3RequestReader | undefined;
  wasGivenUp: boolean;
  end: (() => void) | undefined;
}

/** Stops waiting for a request. A request that can be responded to is not read further (§4.1). */
function giveUp(stream: QuicStream, wait: Wait): void {
  wait.wasGivenUp = true;
  if (wait.reader?.head === undefined) abandon(stream, Http3ErrorCode.H3_REQUEST_REJECTED);
  else stream.stopSending(Http3ErrorCode.H3_NO_ERROR);
}

/** Reads the next chunk; `undefined` at the end, and if the server no longer waits for the request. */
async function readUnlessGivenUp(stream: QuicStream, wait: Wait): Promise<Uint8Array | undefined> {
  try {
    return await stream.read();
  } catch (error) {
    if (wait.wasGivenUp && wait.reader?.head !== undefined) return undefined;
    throw error;
  }
}

/** Encodes the frames of a response: without a body to HEAD, and for statuses that have none. */
function encodeResponse(method: string, response: Http3Response): Uint8Array[] {
  const { status, interim, fields, body } = response;
  const frames = interim === undefined ? [] : headersFrame(interim, []);
  frames.push(...headersFrame(status, fields));
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || body.length === 0;
  if (!isEmpty) frames.push(frameHead(FrameType.DATA, body.length), body);
  return frames;
}

/** Encodes a HEADERS frame: its frame header and its field section. */
function headersFrame(status: number, fields: readonly HttpField[]): Uint8Array[] {
  const block = encodeHeaderBlock([{ name: ':status', value: String(status) }, ...fields]);
  return [frameHead(FrameType.HEADERS, block.length), block];
}
