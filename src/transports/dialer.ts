import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { connectAny } from '../net/happy-eyeballs.ts';
import type { Carrier } from '../net/link.ts';
import type { FamilyPolicy, Resolver } from '../net/resolver.ts';
import type { SocketObserver } from '../net/own-listeners.ts';
import { connectTcp, connectSocket } from '../net/node/tcp-dial.ts';
import type { Socket } from 'node:net';
import type { OutboundCarrierSpec, OutboundStreamSpec } from '../spec.ts';
import { GrpcClient } from './grpc/client.ts';
import { carrierOf, endsOf, socketCarrier } from './socket-carrier.ts';
import { TlsClient } from './tls/client.ts';
import { WsClient } from './ws/client.ts';

export interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Judges each address before it is tried. @throws {DialError} */
  readonly approach?: Approach | undefined;
  /** The address of the client whose destination it is; none for a server of the configuration. */
  readonly client?: string | undefined;
}

/** What is asked before a connection to an IP address is made. */
export type Approach = (address: Endpoint) => SocketObserver | undefined;

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races what came back (RFC 8305).
 *
 * @throws {DialError} with the code that tells why it could not.
 */
export async function dialTcp(target: Endpoint, options: TcpDialOptions): Promise<Carrier> {
  const { resolver, family, clock, signal, approach, client } = options;
  const addresses = await resolver.resolve(target.host, family, signal, client);
  return connectAny(
    addresses,
    (address, attempt) => {
      const onSocket = approach?.({ host: address, port: target.port });
      return connectTcp(address, target.port, { signal: attempt, onSocket });
    },
    { clock, signal, discard: (carrier) => carrier.link.destroy() },
  );
}

export interface DialerDeps {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
}

export interface DialerOptions {
  readonly signal: AbortSignal;
  /** As for `dialTcp`; of a shared connection that of the first tunnel counts. */
  readonly approach?: Approach | undefined;
  /** Dials share a connection only when they are of the same group; by default of one. */
  readonly group?: string | undefined;
}

/** Opens carriers to one server, by the stream settings of one outbound. */
export interface Dialer {
  /** @throws {DialError} when the server is not reached, or not who or what it should be. */
  dial(options: DialerOptions): Promise<Carrier>;
  /** Ends what carriers share, and with it those that still do. */
  close(): void;
}

/** A connected socket with its TLS, if any, and the kernel socket below. */
interface Connected {
  readonly socket: Socket;
  readonly raw: Socket;
}

/** @param stream `undefined` for bare TCP connections. */
export function createDialer(
  server: Endpoint,
  stream: OutboundStreamSpec | undefined,
  deps: DialerDeps,
): Dialer {
  if (!stream) {
    return {
      dial: ({ signal, approach }) => dialTcp(server, { ...deps, signal, approach }),
      close: () => undefined,
    };
  }
  const { carrier, tls } = stream;
  const { clock } = deps;
  const secure = tls && new TlsClient(tls, alpnOf(carrier), clock);
  const connect = async (signal: AbortSignal, approach?: Approach): Promise<Connected> => {
    const raw = await dialSocket(server, { ...deps, signal, approach });
    // An error before anybody has taken the socket over must not end the process.
    raw.on('error', () => undefined);
    return { raw, socket: secure ? await secure.connect(raw, server, signal) : raw };
  };
  switch (carrier.kind) {
    case 'raw':
      return {
        async dial({ signal, approach }) {
          const { socket, raw } = await connect(signal, approach);
          return socketCarrier(socket, raw, endsOf(raw));
        },
        close: () => undefined,
      };
    case 'ws': {
      const client = new WsClient(carrier, server, clock);
      return {
        async dial({ signal, approach }) {
          const { socket, raw } = await connect(signal, approach);
          const ends = endsOf(raw);
          return carrierOf(await client.open(socket, raw, signal), raw, ends);
        },
        close: () => undefined,
      };
    }
    case 'grpc': {
      const client = new GrpcClient(carrier, server, clock, connect);
      return {
        async dial(options) {
          const { link, wire, raw } = await client.tunnel(options);
          return carrierOf(link, wire, endsOf(raw));
        },
        close: () => client.close(),
      };
    }
    default:
      return carrier satisfies never;
  }
}

/**
 * WebSocket is HTTP/1.1 and gRPC HTTP/2. Bare TLS offers nothing: a server that took `h2` of several
 * would be an HTTPS proxy that now expects HTTP/2.
 */
function alpnOf({ kind }: OutboundCarrierSpec): readonly string[] {
  switch (kind) {
    case 'raw':
      return [];
    case 'ws':
      return ['http/1.1'];
    case 'grpc':
      return ['h2'];
    default:
      return kind satisfies never;
  }
}

/** As `dialTcp`, for layers that need Node's own socket. */
async function dialSocket(
  target: Endpoint,
  { resolver, family, clock, signal, approach }: DialerDeps & DialerOptions,
): Promise<Socket> {
  const addresses = await resolver.resolve(target.host, family, signal);
  return connectAny(
    addresses,
    (address, attempt) => {
      const onSocket = approach?.({ host: address, port: target.port });
      return connectSocket(address, target.port, { signal: attempt, onSocket });
    },
    { clock, signal, discard: (socket) => socket.destroy() },
  );
}
