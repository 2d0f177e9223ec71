import { SystemRandomSource, type RandomSource } from '../crypto/random-source.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { Clock } from '../net/time/clock.ts';
import type { Carrier } from '../net/links/link.ts';
import type { FamilyPolicy, Resolver } from '../net/addresses/resolver.ts';
import type { OutboundCarrierSpec, OutboundStreamSpec, TlsClientSpec } from '../spec.ts';
import { dialTcp, raceAddresses, type DialerOptions } from './dial-tcp.ts';
import { GrpcClient } from './grpc/client.ts';
import { carrierOver } from './carrier-over.ts';
import { secureClient, type TcpDial } from './tls/secure-client.ts';
import { WsClient } from './ws/client.ts';

export interface DialerDeps {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  /** The system's when left out. */
  readonly random?: RandomSource | undefined;
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

/** Dials of connections with TLS, if any. */
function secureDial(
  server: Endpoint,
  tls: TlsClientSpec | undefined,
  alpn: readonly string[],
  deps: DialerDeps,
): (options: DialerOptions) => Promise<Carrier> {
  if (!tls) return ({ signal, approach }) => dialTcp(server, { ...deps, signal, approach });
  const client = secureClient(tls, alpn, deps.clock);
  return async ({ signal, approach }) => {
    const dial: TcpDial = (connect, discard) =>
      raceAddresses(server, { ...deps, signal, approach }, connect, discard);
    return (await client.connect(server, dial, { signal })).carrier;
  };
}

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
