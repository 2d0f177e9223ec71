import { asError } from '@weir/base';
import { field, headBytes } from '@weir/http/http1';
import { abortedDial } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { type Clock, unlessAborted } from '@weir/io/time';
import { DNS_MESSAGE, type DohConnection, type DohReply, type DohTarget } from './doh-response.ts';
import { UnansweredError } from './exchange.ts';
import { Http1Link, type Http1LinkHandler } from './http1-link.ts';
import { SilenceWatch, Semaphore } from './kept-connection.ts';

/** Concurrent questions, each on a connection of its own; further ones wait for a free connection. */
const MAX_LINKS = 6;
/** Idle connections that are kept. */
const MAX_FREE = 2;

export interface DohOverHttp1Options {
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
  readonly #slots = new Semaphore();
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
