import { hmacSha256 } from '@weir/crypto/hash';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import { Http3ErrorCode } from '@weir/http/http3';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import { type QuicConnection, type QuicHandlers, ResetTokens, type ServerTls } from '@weir/quic';
import type { ListenSpec, TlsServerSpec } from '../../spec.ts';
import { BindError, bindFirst } from '../../transports/listeners/bind.ts';
import { QuicServerTls } from '../../transports/tls/quic.ts';
import type {
  InboundContext,
  SessionRegistry,
  SessionListener,
  SessionServer,
} from '../contract.ts';
import { logAcceptFailure } from '../inbounds/handshake.ts';
import { SessionListenerBase } from '../inbounds/session-listener-base.ts';
import { type AcceptedAccounts, accountsOf } from '../users/accounts.ts';
import { AssociationPlaces, Circuits, WaitingRequests } from './server/listener-limits.ts';
import type { Authenticator } from './authentication.ts';
import { MasqueradeSite } from './server/masquerade.ts';
import { type BindServer, bindServer, type ServerEndpoint } from './quic-endpoints.ts';
import {
  type ConnectionOwner,
  ServerConnection,
  type Service,
} from './server/server-connection.ts';
import type { Hysteria2InboundSettings } from './settings.ts';

/** The system services that a server uses; tests substitute them. */
interface ServerMeans {
  readonly bind: BindServer;
  readonly createTls: (spec: TlsServerSpec) => ServerTls;
  readonly random?: RandomSource;
}

const SYSTEM: ServerMeans = { bind: bindServer, createTls: (spec) => new QuicServerTls(spec) };

/** Serves the clients of a listener under one set of settings. */
export class Hysteria2Server implements SessionServer {
  readonly settings: Hysteria2InboundSettings;
  readonly service: Service;
  readonly tls: ServerTls;
  readonly accounts: AcceptedAccounts;
  readonly #means: ServerMeans;

  /** @throws {ServerCertificateError} for a certificate or key that TLS rejects. */
  constructor(
    authenticator: Authenticator,
    context: InboundContext,
    settings: Hysteria2InboundSettings,
    means = SYSTEM,
  ) {
    this.settings = settings;
    this.tls = means.createTls(settings.tls);
    this.accounts = authenticator;
    this.#means = means;
    this.service = {
      context,
      authenticate: (credential) => authenticator.authenticate(credential),
      accountOf: (label, auth) => {
        const credential = authenticator.credentialOf(auth);
        return accountsOf(context.memory).validityOf({ label, credential });
      },
      site: new MasqueradeSite(settings.masquerade, context.clock),
      udpIdleMs: settings.udp && settings.udp.idleSeconds * 1000,
    };
  }

  async bind(
    listen: ListenSpec,
    sessions: SessionRegistry,
    signal?: AbortSignal,
  ): Promise<SessionListener> {
    if (listen.kind !== 'ip' && listen.kind !== 'name') {
      throw new RangeError('a Hysteria 2 inbound listens on a UDP port');
    }
    const random = this.#means.random ?? new SystemRandomSource();
    const bind = (where: Endpoint): Promise<ServerEndpoint> => this.#bind(where, random);
    const endpoint = await (listen.kind === 'ip' ? bind(listen) : bindFirst(listen, bind, signal));
    return new Hysteria2Listener(endpoint, this, sessions, random);
  }

  async #bind({ host, port }: Endpoint, random: RandomSource): Promise<ServerEndpoint> {
    const { clock, memory } = this.service.context;
    try {
      return await this.#means.bind(
        { host, port },
        {
          clock,
          random,
          obfuscation: this.settings.obfuscation,
          resetTokens: (local) =>
            memory.recall(`reset tokens of ${formatEndpoint(local)}`, ResetTokens, () =>
              resetTokens(this.settings.tls.key, local),
            ),
        },
      );
    } catch (error) {
      throw new BindError(`UDP ${formatEndpoint({ host, port })}`, error);
    }
  }
}

/**
 * Returns the tokens of stateless resets, derived from the server's private key, so that the next listener at the same
 * address, even in another process, can reset the connections of a former one.
 */
const resetTokens = (privateKey: string, where: Endpoint): ResetTokens =>
  ResetTokens.withKey(
    hmacSha256(Buffer.from(privateKey), Buffer.from(`stateless reset ${formatEndpoint(where)}`)),
  );

/** A bound UDP port and the connections of its clients. */
class Hysteria2Listener extends SessionListenerBase<Hysteria2Server> implements ConnectionOwner {
  readonly address: string;
  readonly endpoint: Endpoint;
  readonly closed: Promise<void>;
  readonly circuits: Circuits;
  readonly random: RandomSource;
  readonly #port: ServerEndpoint;
  readonly waiting: WaitingRequests;
  readonly associations = new AssociationPlaces();
  /**
   * Connections that are not authenticated, bounded by the endpoint: see `quic/endpoint/connections.ts`.
   */
  readonly #unauthenticated = new Set<ServerConnection>();
  readonly #live = new Set<ServerConnection>();
  /** The number of the next connection. */
  #numbers = 0;

  constructor(
    port: ServerEndpoint,
    server: Hysteria2Server,
    registry: SessionRegistry,
    random: RandomSource,
  ) {
    super(Hysteria2Server, server, registry);
    this.#port = port;
    this.random = random;
    this.circuits = new Circuits(server.settings.maxCircuits);
    this.waiting = new WaitingRequests(server.service.context.clock);
    this.endpoint = port.local;
    this.address = formatEndpoint(port.local);
    this.closed = port.closed.then(() => {
      if (!this.markReleased()) return;
      const { log, tag } = this.service.context;
      log.error(`inbound ${tag}: its UDP port ${this.address} has failed`, { inbound: tag });
      this.onRelease();
    });
  }

  get service(): Service {
    return this.server.service;
  }

  protected get isIdle(): boolean {
    return this.#live.size === 0;
  }

  protected onServe(): void {
    this.#receive();
  }

  protected onSwap(): void {
    this.circuits.limit = this.server.settings.maxCircuits;
    for (const connection of this.#live) connection.allowStreams();
    if (this.isServing) this.#receive();
  }

  protected override onRetire(): void {
    this.#receive();
    for (const connection of this.#unauthenticated) connection.end();
  }

  protected onRelease(): void {
    for (const connection of [...this.#unauthenticated, ...this.#live]) connection.end();
    this.#port.close(Http3ErrorCode.H3_NO_ERROR);
  }

  endIdle(): void {
    for (const connection of this.#live) connection.endIfIdle();
  }

  onAuthenticated(connection: ServerConnection): void {
    this.#unauthenticated.delete(connection);
    this.#live.add(connection);
  }

  onEnded(connection: ServerConnection): void {
    this.#unauthenticated.delete(connection);
    this.#live.delete(connection);
    this.releaseIfIdle();
  }

  /** Applies the settings for new clients to the port: none are accepted once the listener is retired. */
  #receive(): void {
    const { settings, tls } = this.server;
    this.#port.serve({
      tls,
      maxConnections: this.isServing ? settings.maxConnections : 0,
      onConnection: (connection) => this.#onConnection(connection),
      onFailure: (error) => logAcceptFailure(error, this.service.context),
    });
  }

  #onConnection(connection: QuicConnection): QuicHandlers {
    const client = new ServerConnection(connection, this, this.#numbers++);
    this.#unauthenticated.add(client);
    // The handshake was in progress when the listener was retired.
    if (!this.isServing) client.end();
    return client.handlers;
  }
}
