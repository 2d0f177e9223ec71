import { asError } from '@weir/base';
import {
  type BodyDecoder,
  combinedOf,
  createDecoder,
  field,
  headBytes,
  HeadScanner,
  listOf,
  parseStrictResponseHead,
  responseFraming,
  startsResponse,
} from '@weir/http/http1';
import { FIELD_LINE_LIMIT, HEAD_LIMIT, INTERIM_LIMIT } from '@weir/http/fields';
import { abortedDial, ProtocolError } from '@weir/io';
import { type ByteLink, freeChunk } from '@weir/io/links';
import { type Clock, unlessAborted } from '@weir/io/time';
import {
  DNS_MESSAGE,
  type DohConnection,
  type DohReply,
  DohResponse,
  type DohTarget,
} from './doh-response.ts';
import { UnansweredError } from './exchange.ts';
import { QuestionQueue, SilenceWatch } from './kept-connection.ts';

interface Http1LinkHandler {
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
class Http1Link {
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

/** Concurrent questions, each on a connection of its own; further ones wait for a free connection. */
const MAX_LINKS = 6;
/** Idle connections that are kept. */
const MAX_FREE = 2;

interface DohOverHttp1Options {
  /** The first connection, which the exchange takes over. */
  readonly first: ByteLink;
  /** Opens another connection. @throws {DialError} when the server is not reached or chooses HTTP/2. */
  readonly another: (signal: AbortSignal) => Promise<ByteLink>;
  readonly target: DohTarget;
  readonly clock: Clock;
  /** Called once, when no more questions are accepted. */
  readonly onEnd: () => void;
}

/**
 * DNS over HTTP/1.1, for servers without HTTP/2: as many connections as concurrent questions, within the server's
 * limits on connections and on requests per connection.
 */
export class DohOverHttp1 implements DohConnection, Http1LinkHandler {
  readonly #options: DohOverHttp1Options;
  readonly #liveness: SilenceWatch;
  readonly #links = new Set<Http1Link>();
  readonly #free: Http1Link[] = [];
  readonly #slots = new QuestionQueue();
  readonly #closing = new AbortController();
  /** Number of connections that are being opened. */
  #opening = 0;
  /** Limit of concurrent connections: below MAX_LINKS after the server has refused one. */
  #limit = MAX_LINKS;
  #answered = 0;
  #ended = false;
  #lost: UnansweredError | undefined;

  constructor(options: DohOverHttp1Options) {
    this.#options = options;
    this.#liveness = new SilenceWatch(options.clock, (cause) => this.end(cause));
    this.#add(options.first);
  }

  get answered(): number {
    return this.#answered;
  }

  async post(message: Buffer, signal: AbortSignal): Promise<DohReply> {
    if (this.#ended) throw new UnansweredError();
    this.#liveness.asked();
    try {
      for (;;) {
        const link = await this.#take(signal);
        try {
          const reply = await unlessAborted(link.post(this.#request(message)), signal, abortedDial);
          this.#answered++;
          this.#release(link);
          return reply;
        } catch (error) {
          // A response that is not read would occupy its connection.
          link.destroy();
          // Each retry costs the server one response of a connection, or lowers the limit.
          if (!(error instanceof UnansweredError) || this.#ended) throw error;
        }
      }
    } finally {
      this.#liveness.settled();
      this.#slots.next();
    }
  }

  end(cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#lost = new UnansweredError(cause);
    this.#liveness.stop();
    this.#closing.abort(this.#lost);
    this.#slots.fail(this.#lost);
    for (const link of this.#links) link.destroy(cause);
    this.#options.onEnd();
  }

  onHead(): void {
    this.#liveness.heard();
  }

  onClosed(link: Http1Link, lost: UnansweredError | undefined): void {
    this.#links.delete(link);
    const at = this.#free.indexOf(link);
    if (at >= 0) this.#free.splice(at, 1);
    const others = this.#links.size + this.#opening;
    if (lost && others === 0) this.end(lost.cause);
    else if (others + this.#slots.length === 0) this.end();
    else {
      if (lost && !link.hasAnswered) this.#limit = Math.max(1, Math.min(this.#limit, others));
      this.#slots.next();
    }
  }

  /** Returns a connection that carries no question. */
  async #take(signal: AbortSignal): Promise<Http1Link> {
    for (;;) {
      if (this.#lost) throw this.#lost;
      const link = this.#free.pop();
      if (link) return link;
      const isExpected = this.#opening > this.#slots.length;
      if (!isExpected && this.#links.size + this.#opening < this.#limit) void this.#open();
      await this.#slots.wait(signal);
    }
  }

  #release(link: Http1Link): void {
    if (!this.#links.has(link)) return;
    if (this.#free.length >= MAX_FREE && this.#slots.length === 0) link.destroy();
    else this.#free.push(link);
  }

  async #open(): Promise<void> {
    this.#opening++;
    try {
      const link = await this.#options.another(this.#closing.signal);
      this.#opening--;
      this.#add(link);
    } catch (error) {
      this.#opening--;
      const others = this.#links.size + this.#opening;
      if (others === 0) this.end(asError(error));
      else this.#limit = Math.min(this.#limit, others);
    }
  }

  #add(link: ByteLink): void {
    if (this.#ended) {
      link.destroy();
      return;
    }
    const made = new Http1Link(link, this);
    this.#links.add(made);
    this.#free.push(made);
    this.#slots.next();
  }

  #request(message: Buffer): Buffer {
    const { host, path } = this.#options.target;
    const head = headBytes(`POST ${path} HTTP/1.1`, [
      field('Host', host),
      field('Content-Type', DNS_MESSAGE),
      field('Accept', DNS_MESSAGE),
      field('Content-Length', String(message.length)),
    ]);
    return Buffer.concat([head, message]);
  }
}
