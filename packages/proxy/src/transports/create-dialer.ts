import { OnDemand } from '@weir/base';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import type { Endpoint, FamilyPolicy, Resolver } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import type { OutboundCarrierSpec, OutboundStreamSpec, TlsClientSpec } from '../spec.ts';
import { carrierOver, type Dialer, dialTcp, dialWith } from './dial-tcp.ts';

/** Client implementations of TLS, WebSocket and gRPC, imported on demand. */
const CLIENTS = new OnDemand('client side of', {
  tls: async () => (await import('./tls/secure-client.ts')).secureClient,
  ws: async () => (await import('./ws/client.ts')).WsClient,
  grpc: async () => (await import('./grpc/client.ts')).GrpcClient,
});

/** Imports the modules that a dialer with these settings needs. @throws {WeirError} `not_loadable` */
export const loadClients = ({ carrier, tls }: OutboundStreamSpec): Promise<void> =>
  CLIENTS.load([
    ...(tls ? (['tls'] as const) : []),
    ...(carrier.kind === 'raw' ? [] : [carrier.kind]),
  ]);

export interface DialerDeps {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  /** The source of randomness; that of the system by default. */
  readonly random?: RandomSource | undefined;
}

/** Settings of bare TCP. */
const BARE: OutboundStreamSpec = { carrier: { kind: 'raw' }, tls: undefined };

/** @param stream the stream settings, after `loadClients`; `undefined` for bare TCP connections. */
export function createDialer(
  server: Endpoint,
  stream: OutboundStreamSpec | undefined,
  deps: DialerDeps,
): Dialer {
  const { carrier, tls } = stream ?? BARE;
  const { clock } = deps;
  const connect = connectionDial(server, tls, alpnOf(carrier), deps);
  switch (carrier.kind) {
    case 'raw':
      return { dial: connect, close: () => undefined };
    case 'ws': {
      const { random = new SystemRandomSource() } = deps;
      const client = new (CLIENTS.get('ws'))(carrier, server, clock, random);
      return {
        async dial(options) {
          const below = await connect(options);
          const link = await client.open(below.link, options.signal);
          if (carrier.earlyData === 0) options.observe?.('carried');
          return carrierOver(below, link);
        },
        close: () => undefined,
      };
    }
    case 'grpc': {
      const client = new (CLIENTS.get('grpc'))(carrier, server, clock, tls !== undefined, connect);
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

/** Returns the function that opens connections, with TLS if configured. */
function connectionDial(
  server: Endpoint,
  tls: TlsClientSpec | undefined,
  alpn: readonly string[],
  deps: DialerDeps,
): Dialer['dial'] {
  if (!tls) {
    return ({ signal, preConnect, observe, use }) =>
      dialTcp(server, { ...deps, signal, preConnect, observe, use });
  }
  const client = CLIENTS.get('tls')(tls, alpn, deps.clock);
  return async ({ signal, preConnect, observe, use }) => {
    const options = { ...deps, signal, preConnect, observe, use };
    const below = await dialWith(client.below, server, options);
    const { carrier } = await client.secure(below, server, signal);
    observe?.('secured');
    return carrier;
  };
}

/**
 * Returns the ALPN protocols to offer: HTTP/1.1 for WebSocket, HTTP/2 for gRPC. Bare TLS offers none: an HTTPS proxy
 * that chose `h2` would then expect HTTP/2.
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
