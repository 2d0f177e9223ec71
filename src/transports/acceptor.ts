import type { Socket } from 'node:net';
import { messageOf } from '../errors.ts';
import { formatEndpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import type { Carrier } from '../net/link.ts';
import type { AcceptedConnection } from '../net/sockets.ts';
import type { Logger } from '../log/logger.ts';
import type { InboundCarrierSpec, InboundStreamSpec } from '../spec.ts';
import { GrpcServer } from './grpc/server.ts';
import { carrierOf, type SocketEnds } from '../net/node/socket-carrier.ts';
import { onlyHttp2, preferHttp1 } from './tls/alpn.ts';
import { secureServer, type SecureServer } from './tls/secure-server.ts';
import { TlsServer } from './tls/server.ts';
import { WsServer } from './ws/server.ts';

export interface StreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves one socket that has its TLS, if any. */
interface SocketServer {
  serve(socket: Socket, raw: Socket, ends: SocketEnds): void;
  /** Whether connections that it serves may open new carriers by other settings. */
  adopts(carrier: InboundCarrierSpec): boolean;
  /** Applies settings that it adopts. */
  update(carrier: InboundCarrierSpec): void;
  close(): void;
}

/** How connections become carriers under the stream settings in force. */
type Way =
  | {
      readonly on: 'links';
      readonly secure: SecureServer | undefined;
      readonly serve: (below: Carrier) => void;
    }
  | {
      readonly on: 'sockets';
      readonly secure: TlsServer | undefined;
      readonly server: SocketServer;
    };

/** Makes carriers of accepted connections, by the stream settings of one inbound. */
export class Acceptor {
  readonly #onCarrier: (carrier: Carrier) => void;
  readonly #deps: StreamDeps;
  #way: Way;

  /**
   * @param stream `undefined` for bare connections.
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

  /** Takes over a connection; when a handshake fails, it is closed and nothing reported. */
  accept(connection: AcceptedConnection): void {
    const way = this.#way;
    const report = (error: unknown): void => this.#report(connection, error);
    if (way.on === 'links') {
      if (way.secure) way.secure.accept(connection).then(way.serve, report);
      else way.serve(bareCarrier(connection));
      return;
    }
    const { secure, server } = way;
    const raw = connection.socket();
    if (secure) {
      secure.accept(raw).then((socket) => server.serve(socket, raw, connection), report);
    } else {
      server.serve(raw, raw, connection);
    }
  }

  /**
   * Builds what other stream settings need. The returned function puts them in force: for
   * connections accepted from then on, and for new carriers on shared connections, which stay open
   * where the carrier allows it and as long as TLS is neither added nor removed. Handshakes under
   * way continue with the settings that they began with.
   *
   * @throws when the certificate cannot be used.
   */
  prepare(stream: InboundStreamSpec | undefined): () => void {
    const old = this.#way;
    const next = this.#wayOf(stream, old);
    return () => {
      if (old.on === 'sockets') {
        if (next.on === 'sockets' && next.server === old.server) {
          old.server.update(carrierSpecOf(stream));
        } else {
          old.server.close();
        }
      }
      this.#way = next;
    };
  }

  /**
   * Accepts no new carriers on shared connections; open carriers and handshakes under way
   * continue.
   */
  close(): void {
    if (this.#way.on === 'sockets') this.#way.server.close();
  }

  #report({ remote }: AcceptedConnection, error: unknown): void {
    const from = remote ? formatEndpoint(remote) : 'a client';
    this.#deps.log.debug(`${from}: ${messageOf(error)}`);
  }

  /** @param old the way in force, whose server is kept where it adopts the settings. */
  #wayOf(stream: InboundStreamSpec | undefined, old: Way | undefined): Way {
    const carrier = carrierSpecOf(stream);
    const { clock } = this.#deps;
    const tls = stream?.tls;
    if (carrier.kind !== 'grpc') {
      const secure = tls && secureServer(tls, preferHttp1, clock);
      return { on: 'links', secure, serve: linkServer(carrier, this.#onCarrier, clock) };
    }
    const secure = tls && new TlsServer(tls, onlyHttp2, clock);
    const kept =
      old?.on === 'sockets' && old.server.adopts(carrier) && !old.secure === !secure
        ? old.server
        : undefined;
    const server = kept ?? socketServer(carrier, this.#onCarrier, clock);
    return { on: 'sockets', secure, server };
  }
}

function bareCarrier(connection: AcceptedConnection): Carrier {
  const { remote, local } = connection;
  const link = connection.link();
  return { link, wire: link, remote, local };
}

const carrierSpecOf = (stream: InboundStreamSpec | undefined): InboundCarrierSpec =>
  stream?.carrier ?? { kind: 'raw' };

/** Makes carriers of connections that have their TLS, if any. */
function linkServer(
  spec: Exclude<InboundCarrierSpec, { kind: 'grpc' }>,
  onCarrier: (carrier: Carrier) => void,
  clock: Clock,
): (below: Carrier) => void {
  if (spec.kind === 'raw') return onCarrier;
  const server = new WsServer(spec, clock);
  return (below) => {
    void server.upgrade(below.link).then((link) => {
      if (link) onCarrier({ ...below, link });
    });
  };
}

/** HTTP/2 is served by Node, on its own sockets. */
function socketServer(
  spec: Extract<InboundCarrierSpec, { kind: 'grpc' }>,
  onCarrier: (carrier: Carrier) => void,
  clock: Clock,
): SocketServer {
  const server = new GrpcServer(spec, clock);
  return {
    serve: (socket, raw, ends) =>
      server.serve(socket, raw, ({ link, wire }) => onCarrier(carrierOf(link, wire, ends))),
    adopts: (carrier) => carrier.kind === 'grpc',
    update: (carrier) => {
      if (carrier.kind === 'grpc') server.update(carrier);
    },
    close: () => server.close(),
  };
}
