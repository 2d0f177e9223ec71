import type { HttpField } from '../fields/field.ts';
import { connectionError, Http3Error, streamError } from './errors.ts';
import {
  checkTrailers,
  parseRequest,
  parseResponse,
  type Parsed,
  type Http3Request,
  type Http3ResponseHead,
} from './message.ts';
import { FrameReader, FrameType, isHttp2Frame, type FrameSink, type Payload } from './frames.ts';
import { BODY_LIMIT, FIELD_SECTION_LIMIT, INTERIM_LIMIT } from '../limits.ts';
import { decodeHeaderBlock } from './qpack.ts';

/** Memory budget for the header blocks of unfinished requests, shared by all requests of a connection. */
export class FieldBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes bytes from the budget; returns false if fewer are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}

/** Bytes of the type and the length of a frame, at least. */
const LEAST_FRAME_HEAD = 2;

/**
 * The progress of a message on a request stream (RFC 9114 §4.1), by what was received:
 *
 * - `header`: no header section, except of interim responses;
 * - `body`: the header section; DATA and trailers may follow;
 * - `trailers`: the trailer section; nothing may follow;
 * - `ended`: the end of the stream, or an error.
 */
type MessageState = 'header' | 'body' | 'trailers' | 'ended';

/**
 * The receiving side of a request stream: reads one message, whose body is counted and discarded. Must not be used
 * after an error.
 */
abstract class MessageReader<Head> implements FrameSink {
  readonly #frames = new FrameReader(this);
  readonly #budget: FieldBudget;
  #reserved = 0;
  state: MessageState = 'header';
  #message: Parsed<Head> | undefined;
  #bodyBytes = 0;
  /** Bytes of the types and lengths of frames that carry nothing for the reader: unknown ones, and empty DATA. */
  #skippedBytes = 0;

  constructor(budget: FieldBudget) {
    this.#budget = budget;
  }

  /** The final header section; `undefined` until it is complete. */
  get head(): Head | undefined {
    return this.#message?.head;
  }

  /** Whether the body has exceeded BODY_LIMIT, with the heads of frames that carry nothing. */
  get isBodyTooLong(): boolean {
    return this.#bodyBytes + this.#skippedBytes > BODY_LIMIT;
  }

  /** Whether the header section and the declared body, if any, have arrived. */
  get hasDeclaredBody(): boolean {
    return this.#message !== undefined && this.#bodyBytes >= (this.#message.contentLength ?? 0);
  }

  feed(bytes: Uint8Array): Http3Error | undefined {
    return this.#checked(this.#frames.feed(bytes));
  }

  /** Called when the peer has ended the stream. */
  end(): Http3Error | undefined {
    return this.#checked(this.#frames.end() ?? this.#endProblem());
  }

  /** Returns the message's bytes to the budget. Idempotent. */
  release(): void {
    this.state = 'ended';
    this.#message = undefined;
    this.#frames.release();
    this.#returnReserved();
  }

  onFrame(type: number, length: number): Payload | Http3Error {
    switch (type) {
      case FrameType.HEADERS:
        if (this.state === 'trailers') return unexpected('HEADERS after the trailers');
        return this.#reserve(length);
      case FrameType.DATA:
        if (this.state !== 'body') return unexpected('DATA outside of a body');
        return this.#count(length);
      case FrameType.PUSH_PROMISE:
        return this.pushError();
      case FrameType.CANCEL_PUSH:
      case FrameType.SETTINGS:
      case FrameType.GOAWAY:
      case FrameType.MAX_PUSH_ID:
        return unexpected('a frame of the control stream on a request stream');
      default:
        return isHttp2Frame(type) ? unexpected('a frame of HTTP/2') : this.#skip();
    }
  }

  onPayload(type: number, payload: Uint8Array): Http3Error | undefined {
    if (type === FrameType.DATA) {
      this.#bodyBytes += payload.length;
      return undefined;
    }
    const section = decodeHeaderBlock(payload);
    return section instanceof Http3Error ? section : this.#onSection(section);
  }

  /** Parses a header section; returns `interim` for one that is followed by another. */
  protected abstract parse(section: readonly HttpField[]): Parsed<Head> | 'interim' | Http3Error;
  /** Returns the error of PUSH_PROMISE, which depends on the role. */
  protected abstract pushError(): Http3Error;

  #onSection(section: readonly HttpField[]): Http3Error | undefined {
    if (this.state === 'body') {
      this.state = 'trailers';
      return checkTrailers(section) ?? this.#lengthProblem();
    }
    const parsed = this.parse(section);
    if (parsed instanceof Http3Error) return parsed;
    if (parsed === 'interim') {
      this.#returnReserved();
      return undefined;
    }
    this.#message = parsed;
    this.state = 'body';
    return undefined;
  }

  /** Reserves memory for a header block before any of it is buffered, until the message has ended. */
  #reserve(length: number): Payload | Http3Error {
    if (length > FIELD_SECTION_LIMIT) {
      return streamError('H3_EXCESSIVE_LOAD', 'the header block is too large');
    }
    if (!this.#budget.take(length)) {
      return streamError('H3_EXCESSIVE_LOAD', 'too many header sections at once');
    }
    this.#reserved += length;
    return 'whole';
  }

  #returnReserved(): void {
    this.#budget.give(this.#reserved);
    this.#reserved = 0;
  }

  /** Rejects a DATA frame that would exceed the declared length before its payload arrives. */
  #count(length: number): Payload | Http3Error {
    if (length === 0) this.#skip();
    const declared = this.#message?.contentLength;
    return declared !== undefined && this.#bodyBytes + length > declared ? wrongLength() : 'pieces';
  }

  /** Skips the payload of a frame. A peer may send no end of empty ones instead of a header section. */
  #skip(): Payload | Http3Error {
    this.#skippedBytes += LEAST_FRAME_HEAD;
    return this.#message === undefined && this.isBodyTooLong
      ? streamError('H3_EXCESSIVE_LOAD', 'too many frames before a header section')
      : 'dropped';
  }

  #endProblem(): Http3Error | undefined {
    if (this.#message === undefined) {
      return streamError('H3_REQUEST_INCOMPLETE', 'the stream ended before a header section');
    }
    return this.#lengthProblem();
  }

  /** Checks the length of the body against `content-length` (RFC 9114 §4.1.2). */
  #lengthProblem(): Http3Error | undefined {
    const declared = this.#message?.contentLength;
    return declared === undefined || declared === this.#bodyBytes ? undefined : wrongLength();
  }

  #checked(error: Http3Error | undefined): Http3Error | undefined {
    if (error !== undefined) this.release();
    return error;
  }
}

/** Reads a request message. */
export class Http3RequestReader extends MessageReader<Http3Request> {
  protected parse(section: readonly HttpField[]): Parsed<Http3Request> | Http3Error {
    return parseRequest(section);
  }

  protected pushError(): Http3Error {
    return unexpected('PUSH_PROMISE from a client');
  }
}

/** Reads a response message. */
export class Http3ResponseReader extends MessageReader<Http3ResponseHead> {
  #interim = 0;

  protected parse(
    section: readonly HttpField[],
  ): Parsed<Http3ResponseHead> | 'interim' | Http3Error {
    const parsed = parseResponse(section);
    if (parsed instanceof Http3Error) return parsed;
    // The length of a discarded body does not matter, and 204 and 304 may declare one.
    if (parsed.head.status >= 200) return { head: parsed.head, contentLength: undefined };
    return ++this.#interim > INTERIM_LIMIT
      ? connectionError('H3_EXCESSIVE_LOAD', 'too many interim responses')
      : 'interim';
  }

  /** MAX_PUSH_ID is never sent, so every push id exceeds the limit (§7.2.5). */
  protected pushError(): Http3Error {
    return connectionError('H3_ID_ERROR', 'a push was not allowed');
  }
}

const unexpected = (reason: string): Http3Error => connectionError('H3_FRAME_UNEXPECTED', reason);
const wrongLength = (): Http3Error =>
  streamError('H3_MESSAGE_ERROR', 'the body has another length than content-length');
