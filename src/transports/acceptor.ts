import type { Socket } from 'node:net';
import { messageOf } from '../errors.ts';
import { formatEndpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import type { Carrier } from '../net/link.ts';
import type { AcceptedConnection } from '../net/sockets.ts';
import type { Logger } from '../log/logger.ts';
import type { InboundCarrierSpec, InboundStreamSpec } from '../spec.ts';
import { GrpcServer } from './grpc/server.ts';
import { carrierOf, socketCarrier, type SocketEnds } from '../net/node/socket-carrier.ts';
import { opensslServer } from './tls/openssl.ts';
import type { OpensslServer } from './tls/openssl-server.ts';
import { onlyHttp2, preferHttp1 } from './tls/alpn.ts';
import { TlsServer } from './tls/server.ts';
import { WsServer } from './ws/server.ts';

export interface StreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Serves one socket that has its TLS, if any. */
interface CarrierServer {
  serve(socket: Socket, raw: Socket, ends: SocketEnds): void;
  /** Whether connections that it serves may open new carriers by other settings. */
  adopts(carrier: InboundCarrierSpec): boolean;
  /** Applies settings that it adopts. */
  update(carrier: InboundCarrierSpec): void;
  close(): void;
}

/** How sockets become carriers under the stream settings in force. */
interface Way {
  /** TLS on links; `undefined` for no TLS, or that of Node. */
  readonly direct: OpensslServer | undefined;
  readonly secure: TlsServer | undefined;
  /** `undefined` for bare sockets. */
  readonly server: CarrierServer | undefined;
}

/** Makes carriers of accepted sockets, by the stream settings of one inbound. */
export class Acceptor {
  readonly #onCarrier: (carrier: Carrier) => void;
  readonly #deps: StreamDeps;
  #way: Way;

  /**
   * @param stream `undefined` for bare sockets.
   * @throws when the certificate cannot be used.
   */
  constructor(
    stream: InboundStreamSpec | undefined,
    onCarrier: (carrier: Carrier) => void,
    deps: StreamDeps,
  ) {
    this.#onCarrier = onCarrier;
    this.#deps = deps;
    const direct = this.#direct(stream);
    const secure = direct ? undefined : this.#secure(stream);
    this.#way = { direct, secure, server: direct ? undefined : this.#server(stream) };
  }

  /** Takes over a connection; when a handshake fails, it is closed and nothing reported. */
  accept(connection: AcceptedConnection): void {
    const { direct, secure, server } = this.#way;
    if (direct) {
      const { remote, local } = connection;
      const wire = connection.link();
      direct.accept(wire).then(
        (link) => this.#onCarrier({ link, wire, remote, local }),
        (error: unknown) => this.#report(connection, error),
      );
      return;
    }
    if (!server) {
      const { remote, local } = connection;
      const link = connection.link();
      this.#onCarrier({ link, wire: link, remote, local });
      return;
    }
    const raw = connection.socket();
    if (!secure) {
      server.serve(raw, raw, connection);
      return;
    }
    secure.accept(raw).then(
      (socket) => server.serve(socket, raw, connection),
      (error: unknown) => {
        raw.destroy();
        this.#report(connection, error);
      },
    );
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
    const direct = this.#direct(stream);
    const secure = direct ? undefined : this.#secure(stream);
    const carrier = carrierSpecOf(stream);
    const old = this.#way;
    const kept = old.server?.adopts(carrier) && !old.secure === !secure ? old.server : undefined;
    const server = kept ?? (direct ? undefined : this.#server(stream));
    return () => {
      kept?.update(carrier);
      if (!kept) old.server?.close();
      this.#way = { direct, secure, server };
    };
  }

  /**
   * Accepts no new carriers on shared connections; open carriers and handshakes under way
   * continue.
   */
  close(): void {
    this.#way.server?.close();
  }

  #report({ remote }: AcceptedConnection, error: unknown): void {
    const from = remote ? formatEndpoint(remote) : 'a client';
    this.#deps.log.debug(`${from}: ${messageOf(error)}`);
  }

  /** WebSocket and HTTP/2 are served by Node, on its own sockets. */
  #direct(stream: InboundStreamSpec | undefined): OpensslServer | undefined {
    if (!stream?.tls || stream.carrier.kind !== 'raw') return undefined;
    return opensslServer(stream.tls, preferHttp1, this.#deps.clock);
  }

  #secure(stream: InboundStreamSpec | undefined): TlsServer | undefined {
    if (!stream?.tls) return undefined;
    const alpn = stream.carrier.kind === 'grpc' ? onlyHttp2 : preferHttp1;
    return new TlsServer(stream.tls, alpn, this.#deps.clock);
  }

  #server(stream: InboundStreamSpec | undefined): CarrierServer | undefined {
    const carrier = carrierSpecOf(stream);
    if (!stream?.tls && carrier.kind === 'raw') return undefined;
    return carrierServer(carrier, this.#onCarrier, this.#deps.clock);
  }
}

const carrierSpecOf = (stream: InboundStreamSpec | undefined): InboundCarrierSpec =>
  stream?.carrier ?? { kind: 'raw' };

/** For carriers without shared connections. */
const UNSHARED = {
  adopts: () => false,
  update: () => undefined,
  close: () => undefined,
} as const;

function carrierServer(
  spec: InboundCarrierSpec,
  onCarrier: (carrier: Carrier) => void,
  clock: Clock,
): CarrierServer {
  switch (spec.kind) {
    case 'raw':
      return {
        ...UNSHARED,
        serve: (socket, raw, ends) => onCarrier(socketCarrier(socket, raw, ends)),
      };
    case 'ws': {
      const server = new WsServer(spec, clock);
      return {
        ...UNSHARED,
        serve: (socket, raw, ends) =>
          server.serve(socket, raw, ({ link, below }) => onCarrier(carrierOf(link, below, ends))),
      };
    }
    case 'grpc': {
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
    default:
      return spec satisfies never;
  }
}
