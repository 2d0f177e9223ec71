import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import { type Clock, unlessAborted } from '@weir/io/time';
import type { ByteLink } from '@weir/io/links';
import { abortedDial, ProtocolError } from '@weir/io';
import { asError } from '@weir/base';
import { counted } from '@weir/base/text/amounts';
import {
  type DnsExchange,
  frame,
  FramedMessageReader,
  ReadingTurns,
  serverError,
  UnansweredError,
  unlessEdnsRejected,
} from './exchange.ts';
import {
  type KeepableConnection,
  KeptConnection,
  SilenceWatch,
  TlsConnector,
  type TlsConnectorOptions,
} from './kept-connection.ts';
import {
  type DnsReply,
  encodeQuery,
  messageId,
  type Question,
  type RawQuestion,
  readReply,
} from '../message.ts';

/** DNS over TLS (RFC 7858): one kept connection that all questions share. */
export class TlsExchange implements DnsExchange {
  readonly server: string;
  readonly #server: Endpoint;
  readonly #connection: KeptConnection<StreamConnection>;

  constructor(options: TlsConnectorOptions) {
    const { server, clock } = options;
    this.server = formatEndpoint(server);
    this.#server = server;
    const connector = new TlsConnector(options, []);
    this.#connection = new KeptConnection(clock, async (signal, onEnd, onWire) => {
      const { carrier } = await connector.connect(signal, onWire);
      return new StreamConnection(carrier.link, clock, onEnd);
    });
  }

  async ask(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply> {
    try {
      return await unlessEdnsRejected((edns) =>
        this.#connection.use((connection) => connection.ask(question, signal, edns), signal),
      );
    } catch (error) {
      throw serverError(this.#server, error);
    }
  }

  close(): void {
    this.#connection.close();
  }
}

const IDS = 0x1_0000;

interface Waiting {
  readonly query: Buffer;
  readonly resolve: (reply: DnsReply) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One stream to a DNS server that carries concurrent questions; replies come in any order
 * (RFC 7766 §6.2.1.1).
 */
export class StreamConnection implements KeepableConnection {
  readonly #link: ByteLink;
  readonly #turns = new ReadingTurns();
  readonly #liveness: SilenceWatch;
  readonly #onEnd: () => void;
  readonly #waiting = new Map<number, Waiting>();
  // TLS authenticates the server, so that ids need not be random.
  #nextId = 0;
  #answered = 0;
  /** Number of messages since the last reply, or since questions wait. */
  #strays = 0;
  /** Whether the connection accepts no more questions. */
  #retired = false;
  #ended = false;

  /** Takes ownership of the link. `onEnd` is called once, when the connection accepts no more questions. */
  constructor(link: ByteLink, clock: Clock, onEnd: () => void) {
    this.#link = link;
    this.#onEnd = onEnd;
    this.#liveness = new SilenceWatch(clock, (cause) =>
      this.end(cause && (this.#stray() ?? cause)),
    );
    void this.#receive();
  }

  get answered(): number {
    return this.#answered;
  }

  /**
   * Asks one question.
   *
   * @throws {UnansweredError} when the connection ended first.
   * @throws {DialError} when `signal` aborted.
   */
  async ask(question: Question | RawQuestion, signal: AbortSignal, edns = true): Promise<DnsReply> {
    if (this.#retired) throw new UnansweredError();
    const id = this.#freeId();
    const query = encodeQuery(question, { id, edns, padded: true });
    const { promise, resolve, reject } = Promise.withResolvers<DnsReply>();
    if (this.#waiting.size === 0) this.#strays = 0;
    this.#waiting.set(id, { query, resolve, reject });
    this.#liveness.asked();
    // The server may have closed after replies that are still to be read; the read reports the failure.
    this.#link.write(frame(query))?.catch(() => this.#retire());
    try {
      return await unlessAborted(promise, signal, abortedDial);
    } finally {
      // A late reply finds no question with this id, or one that it does not match.
      this.#waiting.delete(id);
      this.#liveness.settled();
    }
  }

  /** Closes the connection; pending questions fail. */
  end(cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#liveness.stop();
    this.#link.destroy();
    this.#retire();
    const lost = new UnansweredError(cause);
    for (const { reject } of this.#waiting.values()) reject(lost);
  }

  #retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#onEnd();
  }

  async #receive(): Promise<void> {
    const messages = new FramedMessageReader(this.#link);
    try {
      for (;;) {
        const message = await messages.next();
        // A read has room for tens of thousands of messages that reply to nothing.
        const turn = this.#turns.take(message);
        if (turn) await turn;
        this.#deliver(message);
      }
    } catch (error) {
      this.end(error);
    }
  }

  #deliver(message: Buffer): void {
    const waiting = this.#waiting.get(messageId(message) ?? -1);
    this.#strays++;
    if (!waiting) return;
    try {
      const reply = readReply(message, waiting.query);
      if (!reply) return;
      waiting.resolve(reply);
    } catch (error) {
      waiting.reject(asError(error));
    }
    this.#liveness.heard();
    this.#strays = 0;
    this.#answered++;
  }

  /** Returns the error of a server that sends messages, none of which has replied to a question. */
  #stray(): Error | undefined {
    if (this.#strays === 0) return undefined;
    const messages = counted(this.#strays, 'message');
    return new ProtocolError(`sent ${messages}, but no reply to a question`);
  }

  #freeId(): number {
    while (this.#waiting.has(this.#nextId)) this.#nextId = (this.#nextId + 1) % IDS;
    const id = this.#nextId;
    this.#nextId = (id + 1) % IDS;
    return id;
  }
}
