import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { OnDemand, messageOf } from '@weir/base';
import type { Clock } from '@weir/io/time';
import type { Carrier, ByteLink, WireCounter } from '@weir/io/links';
import type { AcceptedConnection } from '@weir/io/sockets';
import type { Logger } from '@weir/base/log';
import type { InboundCarrierSpec, InboundStreamSpec } from '../spec.ts';
import type { GrpcServer } from './grpc/server.ts';
import type { SecureServer } from './tls/secure-server.ts';
import type { UnauthenticatedClients, Evictable, ClientPlace } from './unauthenticated-clients.ts';
import type { Socket } from 'node:net';
import type { AlpnChoice } from '@weir/io/tls';

/**
 * ALPN choices that reject a client which offers none of these protocols with the alert no_application_protocol (RFC
 * 7301 §3.2), as web servers do. A server that accepted protocols which no web server supports could be identified by
 * that.
 */

/** Protocols that nginx accepts without HTTP/2, in its order. */
const HTTP1 = ['http/1.1', 'http/1.0', 'http/0.9'];

const firstOf =
  (accepted: readonly string[]): AlpnChoice =>
  (offered) =>
    accepted.find((protocol) => offered.includes(protocol));

/**
 * Chooses the protocol of carriers without HTTP. A browser or curl uses the chosen protocol with an HTTPS proxy, so
 * HTTP/1.1 is preferred; clients of other proxy protocols, some of which offer only HTTP/2, ignore the choice.
 */
export const preferHttp1 = firstOf([...HTTP1, 'h2']);

/** Chooses the protocol of WebSocket, which is upgraded from HTTP/1.1. */
export const onlyHttp1 = firstOf(HTTP1);

export const onlyHttp2 = firstOf(['h2']);

/** An accepted connection, counted among those whose clients have not authenticated. */
class CountedConnection implements AcceptedConnection, Evictable {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #below: AcceptedConnection;
  readonly #place: ClientPlace;
  #taken: ByteLink | Socket | undefined;

  constructor(below: AcceptedConnection, unauthenticated: UnauthenticatedClients) {
    this.#below = below;
    this.remote = below.remote;
    this.local = below.local;
    this.#place = unauthenticated.enter(below.remote?.host, this);
  }

  /** Stops counting the connection; called when the client has authenticated, and when the connection has ended. */
  get leave(): () => void {
    return this.#place.leave;
  }

  link(): ByteLink & WireCounter {
    const link = this.#below.link();
    this.#taken = link;
    return link;
  }

  socket(): Socket {
    const socket = this.#below.socket();
    this.#taken = socket;
    return socket;
  }

  destroy(): void {
    this.leave();
    this.#below.destroy();
  }

  evict(cause: Error): void {
    const taken = this.#taken;
    // Without an error: nothing may be listening for errors of the socket yet.
    if (taken && 'setNoDelay' in taken) taken.destroy();
    else if (taken) taken.destroy(cause);
    else this.#below.destroy();
  }
}

/** Server implementations of TLS, WebSocket and gRPC, imported on demand. */
const SERVERS = new OnDemand('server side of', {
  tls: async () => (await import('./tls/secure-server.ts')).secureServer,
  ws: async () => (await import('./ws/server.ts')).WsServer,
  grpc: async () => (await import('./grpc/server.ts')).GrpcServer,
});

/** Imports the modules that an acceptor with these settings needs. @throws {WeirError} `not_loadable` */
export const loadServers = ({ carrier, tls }: InboundStreamSpec): Promise<void> =>
  SERVERS.load([
    ...(tls ? (['tls'] as const) : []),
    ...(carrier.kind === 'raw' ? [] : [carrier.kind]),
  ]);

export interface StreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts the clients of all inbounds that have not authenticated. */
  readonly unauthenticated: UnauthenticatedClients;
}

/** The processing of accepted connections under one version of the stream settings. */
interface Way {
  readonly secure: SecureServer | undefined;
  readonly serve: (below: Carrier) => void;
  /** The gRPC server, whose carriers share connections; `undefined` for other carriers. */
  readonly shared: GrpcServer | undefined;
}

/** Turns accepted connections into carriers, by the stream settings of one inbound. */
export class Acceptor {
  readonly #onCarrier: (carrier: Carrier) => void;
  readonly #deps: StreamDeps;
  #way: Way;

  /**
   * @param stream the stream settings, after `loadServers`; `undefined` for bare TCP connections.
   * @throws when the certificate cannot be used.
   */
  constructor(
    stream: InboundStreamSpec | undefined,
    onCarrier: (carrier: Carrier) => void,
    deps: StreamDeps,
  ) {
    this.#onCarrier = onCarrier;
    this.#deps = deps;
    this.#way = this.#wayOf(stream, undefined);
  }

  /**
   * Takes ownership of a connection. If a handshake fails, the connection is closed and the failure is logged at
   * `debug`; a request whose upgrade is refused is not logged.
   */
  accept(accepted: AcceptedConnection): void {
    const { secure, serve } = this.#way;
    const connection = new CountedConnection(accepted, this.#deps.unauthenticated);
    if (!secure) {
      serve(bareCarrier(connection));
      return;
    }
    secure.accept(connection).then(
      (carrier) => {
        const { leave } = connection;
        serve({ ...carrier, onAuthenticated: leave, onOver: leave });
      },
      (error: unknown) => {
        connection.leave();
        this.#report(connection, error);
      },
    );
  }

  /**
   * Prepares new stream settings, after `loadServers`. The returned function applies them to connections accepted from
   * then on, and to new carriers on shared connections, which stay open if the carrier allows it and TLS is neither
   * added nor removed. Handshakes under way continue with their settings.
   *
   * @throws when the certificate cannot be used.
   */
  prepare(stream: InboundStreamSpec | undefined): () => void {
    const old = this.#way;
    const next = this.#wayOf(stream, old);
    return () => {
      if (old.shared && next.shared === old.shared) {
        const carrier = carrierSpecOf(stream);
        if (carrier.kind === 'grpc') old.shared.update(carrier);
      } else {
        old.shared?.close();
      }
      this.#way = next;
    };
  }

  /** Stops accepting carriers on shared connections; open carriers and handshakes in progress continue. */
  close(): void {
    this.#way.shared?.close();
  }

  /** Accepts carriers on shared connections again, for connections accepted from now on. */
  open(): void {
    this.#way.shared?.open();
  }

  /** Returns the function that establishes a carrier on a connection whose TLS handshake, if any, is complete. */
  #linkServer(spec: Exclude<InboundCarrierSpec, { kind: 'grpc' }>): (below: Carrier) => void {
    const onCarrier = this.#onCarrier;
    if (spec.kind === 'raw') return onCarrier;
    const server = new (SERVERS.get('ws'))(spec, this.#deps.clock);
    return (below) => {
      const onFailed = (error: unknown): void => this.#report(below, error);
      void server.upgrade(below.link, onFailed).then((link) => {
        if (link) onCarrier({ ...below, link });
        else below.onOver?.();
      });
    };
  }

  #report({ remote }: Pick<Carrier, 'remote'>, error: unknown): void {
    const from = remote ? shownEndpoint(remote) : 'a client';
    this.#deps.log.debug(`${from}: ${messageOf(error)}`);
  }

  /** @param old the setup in use, whose server is kept if it can adopt the settings. */
  #wayOf(stream: InboundStreamSpec | undefined, old: Way | undefined): Way {
    const carrier = carrierSpecOf(stream);
    const { clock, unauthenticated } = this.#deps;
    const onCarrier = this.#onCarrier;
    const tls = stream?.tls;
    if (carrier.kind !== 'grpc') {
      const choose = carrier.kind === 'ws' ? onlyHttp1 : preferHttp1;
      const secure = tls && SERVERS.get('tls')(tls, choose, clock);
      return { secure, serve: this.#linkServer(carrier), shared: undefined };
    }
    const secure = tls && SERVERS.get('tls')(tls, onlyHttp2, clock);
    const kept = old && !old.secure === !secure ? old.shared : undefined;
    const shared = kept ?? new (SERVERS.get('grpc'))(carrier, clock, unauthenticated);
    const serve = (below: Carrier): void =>
      shared.serve(below, (tunnel) => onCarrier({ ...below, ...tunnel }));
    return { secure, serve, shared };
  }
}

function bareCarrier(connection: CountedConnection): Carrier {
  const { remote, local, leave } = connection;
  const link = connection.link();
  return { link, wire: link, remote, local, onAuthenticated: leave, onOver: leave };
}

const carrierSpecOf = (stream: InboundStreamSpec | undefined): InboundCarrierSpec =>
  stream?.carrier ?? { kind: 'raw' };
