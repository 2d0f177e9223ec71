import type { SecureContext } from 'node:tls';
import { formatEndpoint, type Endpoint } from '../../net/addresses/address.ts';
import type { Clock } from '../../net/time/clock.ts';
import { SocketLink } from '../../net/sockets/node/socket-link.ts';
import { serverError, type Exchange } from './exchange.ts';
import { KeptConnection } from './kept-connection.ts';
import type { Question, RawQuestion, Reply } from '../message.ts';
import { StreamConnection } from './stream-connection.ts';
import { connectTls } from './tls-connect.ts';

export interface TlsExchangeOptions {
  readonly server: Endpoint;
  /** Sent as SNI and verified. */
  readonly serverName: string;
  /** Called once, when the first connection is opened. */
  readonly trust: () => SecureContext;
  readonly clock: Clock;
}

/** DNS over TLS (RFC 7858): one kept connection that all questions share. */
export class TlsExchange implements Exchange {
  readonly server: string;
  readonly #server: Endpoint;
  readonly #connection: KeptConnection<StreamConnection>;

  constructor({ server, serverName, trust, clock }: TlsExchangeOptions) {
    this.server = formatEndpoint(server);
    this.#server = server;
    this.#connection = new KeptConnection(clock, async (signal, onEnd, onWire) => {
      const target = { server, name: serverName, trust: trust() };
      const socket = await connectTls(target, signal, onWire);
      return new StreamConnection(new SocketLink(socket), clock, onEnd);
    });
  }

  async ask(question: Question | RawQuestion, signal: AbortSignal): Promise<Reply> {
    try {
      return await this.#connection.use((connection) => connection.ask(question, signal), signal);
    } catch (error) {
      throw serverError(this.#server, error);
    }
  }

  close(): void {
    this.#connection.close();
  }
}
