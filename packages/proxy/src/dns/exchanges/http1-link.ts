import { asError } from '@weir/base';
import {
  createDecoder,
  type BodyDecoder,
  combinedOf,
  listOf,
  responseFraming,
  parseStrictResponseHead,
  HeadScanner,
  startsResponse,
} from '@weir/http/http1';
import { FIELD_LINE_LIMIT, HEAD_LIMIT, INTERIM_LIMIT } from '@weir/http/fields';
import { ProtocolError } from '@weir/io';
import { type ByteLink, freeChunk } from '@weir/io/links';
import { DohResponse, type DohReply } from './doh-response.ts';
import { UnansweredError } from './exchange.ts';

export interface Http1LinkHandler {
  /** Called when the head of a response was received. */
  onHead(): void;
  /**
   * Called once, when the link accepts no more questions.
   * @param lost the reason why a question lost its response; `undefined` if none did, or the link was destroyed on
   * purpose.
   */
  onClosed(link: Http1Link, lost: UnansweredError | undefined): void;
}

interface Pending extends PromiseWithResolvers<DohReply> {
  readonly response: ResponseReader;
}

/** One connection of HTTP/1.1 to a DNS server, which carries one question at a time (RFC 9112 §9). */
export class Http1Link {
  readonly #link: ByteLink;
  readonly #handler: Http1LinkHandler;
  #pending: Pending | undefined;
  #hasAnswered = false;
  #isClosed = false;

  /** Takes ownership of the link. */
  constructor(link: ByteLink, handler: Http1LinkHandler) {
    this.#link = link;
    this.#handler = handler;
    void this.#read();
  }

  /** Whether the link has carried a complete response. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Sends a request and waits for its response. One request may be pending at a time.
   *
   * @throws {UnansweredError} when the connection ended before the whole response.
   * @throws {ProtocolError} when the response is not a DNS message; the link is then closed.
   */
  post(request: Uint8Array): Promise<DohReply> {
    if (this.#isClosed) return Promise.reject(new UnansweredError());
    const response = new ResponseReader(() => this.#handler.onHead());
    this.#pending = { ...Promise.withResolvers<DohReply>(), response };
    const { promise } = this.#pending;
    // The server may have closed after a response that is still to be read; the read reports the failure.
    this.#link.write(request)?.catch(() => undefined);
    return promise;
  }

  /** Closes the link, with the question that it carries. */
  destroy(cause?: unknown): void {
    this.#close(new UnansweredError(cause), undefined);
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const chunk = await this.#link.read();
        if (this.#isClosed) return;
        if (!chunk) {
          this.#end();
          return;
        }
        this.#receive(chunk);
        // All parts that are kept were copied.
        freeChunk(chunk);
      }
    } catch (error) {
      this.#lose(error);
    }
  }

  #receive(chunk: Uint8Array): void {
    const pending = this.#pending;
    let used = 0;
    try {
      used = pending?.response.push(chunk) ?? 0;
    } catch (error) {
      this.#close(asError(error), undefined);
      return;
    }
    if (!pending) {
      this.destroy();
    } else if (pending.response.isComplete) {
      this.#pending = undefined;
      this.#hasAnswered = true;
      if (!pending.response.persists || used < chunk.length) this.destroy();
      pending.resolve(pending.response.reply);
    }
  }

  /** Called when the server has closed the connection. */
  #end(): void {
    const pending = this.#pending;
    if (pending?.response.endsWithConnection !== true) {
      this.#lose(undefined);
      return;
    }
    this.#pending = undefined;
    this.destroy();
    pending.resolve(pending.response.reply);
  }

  #lose(cause: unknown): void {
    const lost = new UnansweredError(cause);
    this.#close(lost, this.#pending && lost);
  }

  #close(error: Error, lost: UnansweredError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.destroy();
    const pending = this.#pending;
    this.#pending = undefined;
    this.#handler.onClosed(this, lost);
    pending?.reject(error);
  }
}

/** Reads one response, whatever its chunk boundaries. */
class ResponseReader {
  readonly #onHead: () => void;
  #scanner = new HeadScanner(HEAD_LIMIT, startsResponse);
  #interim = 0;
  #response: DohResponse | undefined;
  #body: BodyDecoder | undefined;
  #persists = false;
  #endsWithConnection = false;

  constructor(onHead: () => void) {
    this.#onHead = onHead;
  }

  get isComplete(): boolean {
    return this.#body?.done === true;
  }

  /** Whether the connection can be reused after this response. */
  get persists(): boolean {
    return this.#persists;
  }

  /** Whether the body ends with the connection (RFC 9112 §6.3). */
  get endsWithConnection(): boolean {
    return this.#endsWithConnection;
  }

  /** The response, once complete. */
  get reply(): DohReply {
    if (!this.#response) throw new Error('the response has not come');
    return this.#response.reply;
  }

  /**
   * Decodes the next chunk, which is not used after the call.
   * @returns the number of its bytes that belong to the response.
   * @throws {ProtocolError} when it is malformed, or not a DNS message.
   */
  push(chunk: Uint8Array): number {
    let at = 0;
    while (!this.#body) {
      if (at === chunk.length) return at;
      const used = this.#scanner.push(chunk.subarray(at));
      if (used === undefined) return chunk.length;
      at += used;
      this.#takeHead();
    }
    const pieces: Uint8Array[] = [];
    at += this.#body.push(chunk.subarray(at), pieces);
    for (const piece of pieces) this.#response?.push(piece);
    return at;
  }

  #takeHead(): void {
    const head = parseStrictResponseHead(this.#scanner.head, FIELD_LINE_LIMIT);
    const { status, version, fields } = head;
    if (status < 200 && status !== 101) {
      if (++this.#interim > INTERIM_LIMIT) {
        throw new ProtocolError('responded with nothing but interim responses');
      }
      this.#scanner = new HeadScanner(HEAD_LIMIT, startsResponse);
      return;
    }
    this.#onHead();
    const type = combinedOf(fields, 'content-type');
    this.#response = new DohResponse(status, type, combinedOf(fields, 'age'));
    const { body, certain } = responseFraming(head, 'POST');
    this.#endsWithConnection = body.kind === 'until-close';
    this.#persists =
      certain && version === '1.1' && !listOf(fields, 'connection').includes('close');
    this.#body = createDecoder(body);
  }
}
