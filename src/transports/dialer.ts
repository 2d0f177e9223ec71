import { SystemRandomSource, type RandomSource } from '../crypto/random-source.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { Clock } from '../net/time/clock.ts';
import { connectAny } from '../net/sockets/happy-eyeballs.ts';
import type { ByteLink, Carrier } from '../net/links/link.ts';
import type { FamilyPolicy, Resolver } from '../net/addresses/resolver.ts';
import type { SocketObserver } from '../net/sockets/sockets.ts';
import { systemSockets } from '../net/sockets/system-sockets.ts';
import type { Socket } from 'node:net';
import type { OutboundCarrierSpec, OutboundStreamSpec, TlsClientSpec } from '../spec.ts';
import { GrpcClient } from './grpc/client.ts';
import { endsOf, socketCarrier } from '../net/sockets/node/socket-carrier.ts';
import { opensslClient } from './tls/openssl.ts';
import { TlsClient } from './tls/client.ts';
import { WsClient } from './ws/client.ts';

export interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with each address before it is tried. @throws {DialError} to reject it. */
  readonly approach?: Approach | undefined;
  /** The address of the client that requested it; left out for a server of the configuration. */
  readonly client?: string | undefined;
}

/** Checks an IP address before a connection to it is made. @throws {DialError} to reject it. */
export type Approach = (address: Endpoint) => SocketObserver | undefined;

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races the addresses (RFC 8305).
 *
 * @throws {DialError} with the code of the reason.
 */
export async function dialTcp(target: Endpoint, options: TcpDialOptions): Promise<Carrier> {
  const { resolver, family, clock, signal, approach, client } = options;
  const addresses = await resolver.resolve(target.host, family, signal, client);
  return connectAny(
    addresses,
    (address, attempt) => {
      const onSocket = approach?.({ host: address, port: target.port });
      const where = { host: address, port: target.port };
      return systemSockets().connect(where, { signal: attempt, onSocket });
    },
    { clock, signal, discard: (carrier) => carrier.link.destroy() },
  );
}

export interface DialerDeps {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  /** The system's when left out. */
  readonly random?: RandomSource | undefined;
}

export interface DialerOptions {
  readonly signal: AbortSignal;
  /** As for `dialTcp`; for a shared connection, that of its first tunnel. */
  readonly approach?: Approach | undefined;
  /** Dials share a connection only when they are of the same group; by default of one. */
  readonly group?: string | undefined;
}

/** Opens carriers to one server, by the stream settings of one outbound. */
export interface Dialer {
  /** @throws {DialError} when the server is not reached, not authenticated or breaks a protocol. */
  dial(options: DialerOptions): Promise<Carrier>;
  /** Closes the connections that carriers share, and with them these carriers. */
  close(): void;
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
  const { clock, random = new SystemRandomSource() } = deps;
  switch (carrier.kind) {
    case 'raw':
      return { dial: secureDial(server, tls, alpnOf(carrier), deps), close: () => undefined };
    case 'ws': {
      const client = new WsClient(carrier, server, clock, random);
      const dialBelow = secureDial(server, tls, alpnOf(carrier), deps);
      return {
        async dial(options) {
          const below = await dialBelow(options);
          return carrierOver(below, await client.open(below.link, options.signal));
        },
        close: () => undefined,
      };
    }
    case 'grpc': {
      const open = secureDial(server, tls, alpnOf(carrier), deps);
      const client = new GrpcClient(carrier, server, clock, tls !== undefined, open);
      return {
        async dial(options) {
          const { link, wire, below } = await client.tunnel(options);
          return carrierOver(below, link, wire);
        },
        close: () => client.close(),
      };
    }
    default:
      return carrier satisfies never;
  }
}

/**
 * Dials of connections with TLS, if any: by OpenSSL on links of the kernel's sockets, or by Node on its
 * own sockets where that is not available.
 */
function secureDial(
  server: Endpoint,
  tls: TlsClientSpec | undefined,
  alpn: readonly string[],
  deps: DialerDeps,
): (options: DialerOptions) => Promise<Carrier> {
  const { clock } = deps;
  const bare = ({ signal, approach }: DialerOptions): Promise<Carrier> =>
    dialTcp(server, { ...deps, signal, approach });
  if (!tls) return bare;
  const direct = opensslClient(tls, alpn, clock);
  if (direct) {
    return async (options) => {
      const below = await bare(options);
      return carrierOver(below, await direct.connect(below.link, server, options.signal));
    };
  }
  const node = new TlsClient(tls, alpn, clock);
  return async ({ signal, approach }) => {
    const raw = await dialSocket(server, { ...deps, signal, approach });
    const socket = await node.connect(raw, server, signal);
    return socketCarrier(socket, raw, endsOf(raw));
  };
}

/** A carrier by a link over that of another carrier. */
const carrierOver = (below: Carrier, link: ByteLink, wire = below.wire): Carrier => ({
  link,
  wire,
  remote: below.remote,
  get local() {
    return below.local;
  },
});

/**
 * WebSocket is HTTP/1.1 and gRPC HTTP/2. Bare TLS offers nothing: an HTTPS proxy that chose `h2`
 * would then expect HTTP/2.
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
      const where = { host: address, port: target.port };
      return systemSockets().connectSocket(where, { signal: attempt, onSocket });
    },
    { clock, signal, discard: (socket) => socket.destroy() },
  );
}
