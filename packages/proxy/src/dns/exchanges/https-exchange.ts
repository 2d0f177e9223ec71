import {
  type ConnectionOptions,
  Http2Driver,
  Http2Error,
  Http2ErrorCode,
  http2ErrorName,
  type Http2Stream,
  type StreamEnd,
  type StreamHandler,
} from '@weir/http/http2';
import { HEADER_LIST_LIMIT, type HttpField, valueOf } from '@weir/http/fields';
import { asError } from '@weir/base';
import { abortedDial, ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { type Clock, unlessAborted } from '@weir/io/time';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import {
  type DnsReply,
  encodeQuery,
  MAX_MESSAGE_SIZE,
  type Question,
  type RawQuestion,
  readReply,
} from '../message.ts';
import {
  DNS_MESSAGE,
  type DohConnection,
  type DohReply,
  DohResponse,
  type DohTarget,
} from './doh-response.ts';
import {
  type DnsExchange,
  ReadingTurns,
  serverError,
  UnansweredError,
  unlessEdnsRejected,
} from './exchange.ts';
import { KeptConnection, QuestionQueue, SilenceWatch, TlsConnector } from './kept-connection.ts';
import type { CaSpec } from '../../spec.ts';
import { DohOverHttp1 } from './doh-over-http1.ts';

/** The window of a stream is the initial one of RFC 9113 §6.9.2: as large as the longest message. */
const OPTIONS: ConnectionOptions = {
  role: 'client',
  settings: { enablePush: false, maxHeaderListSize: HEADER_LIST_LIMIT },
  connectionWindow: 1 << 20,
};

/** DNS over HTTP/2: each question is a stream of one connection. */
export class DohOverHttp2 implements DohConnection {
  readonly #driver: Http2Driver;
  readonly #target: DohTarget;
  readonly #liveness: SilenceWatch;
  readonly #onEnd: () => void;
  /** Questions beyond the streams that the server allows. */
  readonly #slots = new QuestionQueue();
  #answered = 0;
  /** Limit of concurrent streams: below the server's SETTINGS after it has refused one. */
  #limit = Number.POSITIVE_INFINITY;
  #isRetired = false;

  /**
   * Takes ownership of the link.
   * @param onEnd called once, when the connection accepts no more questions.
   */
  constructor(link: ByteLink, target: DohTarget, clock: Clock, onEnd: () => void) {
    this.#target = target;
    this.#onEnd = onEnd;
    this.#liveness = new SilenceWatch(clock, (cause) => this.end(cause));
    this.#driver = new Http2Driver(link, clock, OPTIONS, {
      onPeerSettings: () => this.#slots.next(),
      onGoAway: () => {
        this.#retire();
        // The driver closes with the last question.
        this.#driver.close();
      },
      onEnd: () => this.#retire(),
    });
    this.#driver.start();
  }

  get answered(): number {
    // After a GOAWAY the remaining streams will be answered (RFC 9113 §6.8).
    return this.#answered + (this.#isRetired ? this.#driver.connection.streamCount : 0);
  }

  async post(message: Buffer, signal: AbortSignal): Promise<DohReply> {
    if (this.#isRetired) throw new UnansweredError();
    this.#liveness.asked();
    try {
      for (;;) {
        const stream = await this.#open(message.length, signal);
        const before = this.#answered;
        try {
          return await this.#ask(stream, message, signal);
        } catch (error) {
          if (!(error instanceof RefusedError) || this.#isRetired) throw error;
          // Safe to retry (RFC 9113 §8.7) while other streams are served, with at most as many at once.
          const { streamCount } = this.#driver.connection;
          if (streamCount === 0 && this.#answered === before) throw error;
          this.#limit = Math.max(1, streamCount);
        }
      }
    } finally {
      this.#liveness.settled();
      this.#slots.next();
    }
  }

  async #ask(stream: Http2Stream, message: Buffer, signal: AbortSignal): Promise<DohReply> {
    try {
      const question = new QuestionStream(stream, this);
      stream.push(message, false);
      stream.end();
      return await unlessAborted(question.reply, signal, abortedDial);
    } finally {
      stream.reset(Http2ErrorCode.CANCEL);
    }
  }

  /**
   * Called by a stream when the head of its response was received.
   * @internal
   */
  onHead(): void {
    this.#liveness.heard();
  }

  /**
   * Called by a stream when its response is complete.
   * @internal
   */
  onAnswered(): void {
    this.#answered++;
    this.#limit++;
  }

  end(cause?: Error): void {
    this.#retire();
    if (cause) this.#driver.abandon(cause);
    else this.#driver.destroy();
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#liveness.stop();
    this.#slots.fail(new UnansweredError());
    this.#onEnd();
  }

  async #open(length: number, signal: AbortSignal): Promise<Http2Stream> {
    const request = this.#request(length);
    for (;;) {
      if (this.#isRetired) throw new UnansweredError();
      const { connection } = this.#driver;
      const stream = connection.streamCount < this.#limit ? connection.request(request) : undefined;
      if (stream) {
        this.#slots.next();
        return stream;
      }
      await this.#slots.wait(signal);
    }
  }

  #request(length: number): readonly HttpField[] {
    return [
      { name: ':method', value: 'POST' },
      { name: ':scheme', value: 'https' },
      { name: ':authority', value: this.#target.host },
      { name: ':path', value: this.#target.path },
      { name: 'content-type', value: DNS_MESSAGE },
      { name: 'accept', value: DNS_MESSAGE },
      { name: 'content-length', value: String(length) },
    ];
  }
}

/** Reset codes of a server that has not processed the question, or has too many of them. */
const REFUSALS: ReadonlySet<number> = new Set([
  Http2ErrorCode.REFUSED_STREAM,
  Http2ErrorCode.ENHANCE_YOUR_CALM,
]);

/** The error of a reset with a code of `REFUSALS`, or of a GOAWAY. */
class RefusedError extends UnansweredError {}

/** The stream of one question. */
class QuestionStream implements StreamHandler {
  readonly reply: Promise<DohReply>;
  readonly #stream: Http2Stream;
  readonly #owner: Pick<DohOverHttp2, 'onHead' | 'onAnswered'>;
  readonly #settle = Promise.withResolvers<DohReply>();
  #response: DohResponse | undefined;

  constructor(stream: Http2Stream, owner: Pick<DohOverHttp2, 'onHead' | 'onAnswered'>) {
    this.reply = this.#settle.promise;
    this.#stream = stream;
    this.#owner = owner;
    stream.handler = this;
  }

  onResponse(status: number, fields: readonly HttpField[]): void {
    this.#owner.onHead();
    try {
      const type = valueOf(fields, 'content-type');
      this.#response = new DohResponse(status, type, valueOf(fields, 'age'));
    } catch (error) {
      this.#fail(asError(error));
    }
  }

  onReadable(): void {
    const pieces = this.#stream.take(MAX_MESSAGE_SIZE);
    const response = this.#response;
    if (!response) return;
    try {
      for (const piece of pieces) response.push(piece);
    } catch (error) {
      this.#fail(asError(error));
      return;
    }
    if (!this.#stream.remoteEnded) return;
    this.#owner.onAnswered();
    this.#settle.resolve(response.reply);
  }

  onAbort(end: StreamEnd): void {
    const cause = causeOf(end);
    const isRefused = end.by === 'peer' && REFUSALS.has(end.code);
    this.#settle.reject(isRefused ? new RefusedError(cause) : new UnansweredError(cause));
  }

  onTrailers(): void {
    // These fields do not concern the message.
  }

  onWritable(): void {
    // A question is shorter than the queue.
  }

  onEndSent(): void {
    // The response decides.
  }

  /** Fails without waiting for the rest of the response. */
  #fail(error: Error): void {
    this.#response = undefined;
    this.#settle.reject(error);
    this.#stream.reset(Http2ErrorCode.CANCEL);
  }
}

/**
 * Returns the reason why a stream ended before its response; `undefined` if the server merely closed the connection.
 */
function causeOf({ by, code, cause }: StreamEnd): Error | undefined {
  if (cause instanceof Http2Error) {
    return new ProtocolError(`HTTP/2: ${cause.reason} (${cause.name})`);
  }
  if (cause || by === 'connection') return cause;
  return new ProtocolError(`HTTP/2: the server reset the stream with ${http2ErrorName(code)}`);
}

export interface HttpsExchangeOptions extends DohTarget {
  /** The address that is dialled; `host` is only sent and verified. */
  readonly server: Endpoint;
  /** Certificates trusted in addition to the system's. */
  readonly ca: CaSpec | undefined;
  readonly clock: Clock;
}

/**
 * DNS over HTTPS (RFC 8484): posts questions over HTTP/2, or over HTTP/1.1 to servers that choose it
 * in the handshake.
 */
export class HttpsExchange implements DnsExchange {
  readonly server: string;
  readonly #server: Endpoint;
  readonly #turns = new ReadingTurns();
  readonly #connection: KeptConnection<DohConnection>;

  constructor({ server, host, path, ca, clock }: HttpsExchangeOptions) {
    this.server = formatEndpoint(server);
    this.#server = server;
    const target = { host, path };
    const tls = new TlsConnector({ server, serverName: host, ca, clock }, ['h2', 'http/1.1']);
    this.#connection = new KeptConnection<DohConnection>(clock, async (signal, onEnd, onWire) => {
      const { carrier, alpn } = await tls.connect(signal, onWire);
      if (alpn === 'h2') return new DohOverHttp2(carrier.link, target, clock, onEnd);
      const another = async (closing: AbortSignal) => {
        const made = await tls.connect(closing);
        if (made.alpn !== 'h2') return made.carrier.link;
        made.carrier.link.destroy();
        throw new UnansweredError();
      };
      return new DohOverHttp1({ first: carrier.link, another, target, clock, onEnd });
    });
  }

  async ask(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply> {
    try {
      return await unlessEdnsRejected((edns) => this.#ask(question, edns, signal));
    } catch (error) {
      throw serverError(this.#server, error);
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #ask(
    question: Question | RawQuestion,
    edns: boolean,
    signal: AbortSignal,
  ): Promise<DnsReply> {
    // The id is 0 so that HTTP caches recognise equal questions (RFC 8484 §4.1).
    const query = encodeQuery(question, { id: 0, edns, padded: true });
    const { body, age } = await this.#connection.use(
      (connection) => connection.post(query, signal),
      signal,
    );
    const turn = this.#turns.take(body);
    if (turn) await unlessAborted(turn, signal, abortedDial);
    const reply = readReply(body, query);
    if (!reply) throw new ProtocolError('the answer is to another question');
    return aged(reply, age);
  }
}

/** Returns the reply with its TTLs reduced by `age`, the seconds that it has spent in a cache. */
function aged(reply: DnsReply, age: number): DnsReply {
  if (age === 0) return reply;
  const older = <T extends { readonly ttl: number }>(each: T): T => ({
    ...each,
    ttl: Math.max(0, each.ttl - age),
  });
  return {
    ...reply,
    records: reply.records.map(older),
    authority: reply.authority && older(reply.authority),
  };
}
