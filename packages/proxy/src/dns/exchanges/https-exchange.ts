import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import type { CaSpec } from '../../spec.ts';
import {
  encodeQuery,
  readReply,
  type Question,
  type RawQuestion,
  type DnsReply,
} from '../message.ts';
import { DohOverHttp1 } from './doh-over-http1.ts';
import { DohOverHttp2 } from './doh-over-http2.ts';
import type { DohConnection, DohTarget } from './doh-response.ts';
import { UnansweredError, serverError, unlessEdnsRejected, type DnsExchange } from './exchange.ts';
import { KeptConnection } from './kept-connection.ts';
import { TlsConnector } from './tls-connector.ts';

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
