import { formatEndpoint, type Endpoint } from '../../net/addresses/address.ts';
import { serverError, unlessEdnsRejected, type DnsExchange } from './exchange.ts';
import { KeptConnection } from './kept-connection.ts';
import type { Question, RawQuestion, DnsReply } from '../message.ts';
import { StreamConnection } from './stream-connection.ts';
import { TlsConnector, type TlsConnectorOptions } from './tls-connector.ts';

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
