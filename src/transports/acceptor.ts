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
import { onlyHttp2, preferHttp1, TlsServer } from './tls/server.ts';
import { WsServer } from './ws/server.ts';

export interface StreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes carriers of accepted sockets, by the stream settings of one inbound. */
export interface Acceptor {
  /** Takes over a connection; when a handshake fails, it is closed and nothing reported. */
  accept(connection: AcceptedConnection): void;
  /**
   * Accepts no new carriers on shared connections; open carriers and handshakes under way
   * continue.
   */
  close(): void;
}

/** Serves one socket that has its TLS, if any. */
interface CarrierServer {
  serve(socket: Socket, raw: Socket, ends: SocketEnds): void;
  close(): void;
}

/**
 * @param stream `undefined` for bare sockets.
 * @throws when the certificate cannot be used.
 */
export function createAcceptor(
  stream: InboundStreamSpec | undefined,
  onCarrier: (carrier: Carrier) => void,
  { clock, log }: StreamDeps,
): Acceptor {
  const { tls, carrier = { kind: 'raw' } as const } = stream ?? {};
  if (!tls && carrier.kind === 'raw') {
    return {
      accept(connection) {
        const { remote, local } = connection;
        const link = connection.link();
        onCarrier({ link, wire: link, remote, local });
      },
      close: () => undefined,
    };
  }
  const server = carrierServer(carrier, onCarrier, clock);
  const close = (): void => server.close();
  if (!tls) {
    return {
      accept(connection) {
        const socket = connection.socket();
        server.serve(socket, socket, connection);
      },
      close,
    };
  }
  const alpn = carrier.kind === 'grpc' ? onlyHttp2 : preferHttp1;
  const secure = new TlsServer(tls, alpn, clock);
  return {
    accept(connection) {
      const raw = connection.socket();
      secure.accept(raw).then(
        (socket) => server.serve(socket, raw, connection),
        (error: unknown) => {
          raw.destroy();
          const from = connection.remote ? formatEndpoint(connection.remote) : 'a client';
          log.debug(`${from}: ${messageOf(error)}`);
        },
      );
    },
    close,
  };
}

function carrierServer(
  spec: InboundCarrierSpec,
  onCarrier: (carrier: Carrier) => void,
  clock: Clock,
): CarrierServer {
  switch (spec.kind) {
    case 'raw':
      return {
        serve: (socket, raw, ends) => onCarrier(socketCarrier(socket, raw, ends)),
        close: () => undefined,
      };
    case 'ws': {
      const server = new WsServer(spec, clock);
      return {
        serve: (socket, raw, ends) =>
          server.serve(socket, raw, ({ link, below }) => onCarrier(carrierOf(link, below, ends))),
        close: () => undefined,
      };
    }
    case 'grpc': {
      const server = new GrpcServer(spec, clock);
      return {
        serve: (socket, raw, ends) =>
          server.serve(socket, raw, ({ link, wire }) => onCarrier(carrierOf(link, wire, ends))),
        close: () => server.close(),
      };
    }
    default:
      return spec satisfies never;
  }
}
