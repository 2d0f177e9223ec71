import type { SecureContext } from 'node:tls';
import { formatEndpoint, type Endpoint } from '../../net/addresses/address.ts';
import type { Clock } from '../../net/time/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { serverError, type Exchange } from './exchange.ts';
import type { DohTarget, HttpConnection } from './http-connection.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2-connection.ts';
import { KeptConnection } from './kept-connection.ts';
import { encodeQuery, readReply, type Question, type RawQuestion, type Reply } from '../message.ts';
import { connectTls } from './tls-connect.ts';

export interface HttpsExchangeOptions extends DohTarget {
  /** What is dialled; `host` is only sent and verified. */
  readonly server: Endpoint;
  /** Called once, when the first connection is opened. */
  readonly trust: () => SecureContext;
  readonly clock: Clock;
}

/**
 * DNS over HTTPS (RFC 8484): posts questions over HTTP/2, or over HTTP/1.1 to servers without it.
 */
export class HttpsExchange implements Exchange {
  readonly server: string;
  readonly #server: Endpoint;
  readonly #connection: KeptConnection<HttpConnection>;

  constructor({ server, host, path, trust, clock }: HttpsExchangeOptions) {
    this.server = formatEndpoint(server);
    this.#server = server;
    const target = { host, path };
    this.#connection = new KeptConnection<HttpConnection>(clock, async (signal, onEnd, onWire) => {
      const tls = { server, name: host, trust: trust() };
      const socket = await connectTls({ ...tls, alpn: ['h2', 'http/1.1'] }, signal, onWire);
      if (socket.alpnProtocol === 'h2') return new Http2Connection(socket, target, clock, onEnd);
      // This socket has served its purpose, the negotiation: Node's agent opens its own.
      socket.destroy();
      return new Http1Connection({ ...tls, alpn: ['http/1.1'] }, target, clock, onEnd);
    });
  }

  async ask(question: Question | RawQuestion, signal: AbortSignal): Promise<Reply> {
    // The id is 0 so that HTTP caches recognise equal questions (RFC 8484 §4.1).
    const query = encodeQuery(question, { id: 0, padded: true });
    try {
      const { body, age } = await this.#connection.use(
        (connection) => connection.post(query, signal),
        signal,
      );
      const reply = readReply(body, query);
      if (!reply) throw new ProtocolError('the answer is to another question');
      return aged(reply, age);
    } catch (error) {
      throw serverError(this.#server, error);
    }
  }

  close(): void {
    this.#connection.close();
  }
}

/** The reply with its TTLs reduced by `age`, the seconds that it has spent in a cache. */
function aged(reply: Reply, age: number): Reply {
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
