import type { RandomSource } from '@weir/base/random';
import type { BindDatagrams } from '@weir/base/ip';
import { WeirError } from '@weir/base';
import { type Endpoint, ipVersion, numericEndpoint } from '@weir/io/addresses';
import type { Clock } from '@weir/io/time';
import type { Defer } from '@weir/io/time';
import { dialledUdp } from '@weir/io/net/own-listeners';
import { type DialledSocket, systemSockets } from '@weir/io/sockets';
import {
  type ClientTls,
  type ConnectionSettings,
  DEFAULT_SETTINGS,
  type QuicConnection,
  QuicEndpoint,
  type QuicHandlers,
  type ResetTokens,
  type ServerTls,
} from '@weir/quic';
import { Salamander } from './salamander.ts';
import { IDLE_MS, KEEP_ALIVE_MS, LONGEST_DATAGRAM_FRAME } from './limits.ts';

/** Settings of the endpoints of both sides. */
interface EndpointParts {
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The password of Salamander; `undefined` without obfuscation. */
  readonly obfuscation: string | undefined;
}

/** Settings for accepting clients; may be replaced for later clients. */
export interface Reception {
  readonly tls: ServerTls;
  /** Connections beyond which handshakes are refused at once; with 0 no client is accepted. */
  readonly maxConnections: number;
  readonly onConnection: (connection: QuicConnection) => QuicHandlers;
  /** Called when a client got no connection because TLS could not create its state. */
  readonly onFailure: (error: Error) => void;
}

/** The UDP port of a server. */
export interface ServerEndpoint {
  readonly local: Endpoint;
  /** Accepts clients from now on; until then clients get no response. */
  serve(reception: Reception): void;
  /** Closes all connections with a code of HTTP/3, then the port. Idempotent. */
  close(code: number): void;
  /** Resolves, never rejects, when the port is free. */
  readonly closed: Promise<unknown>;
}

/** Binds a UDP port. @throws the system's error. */
export type BindServer = (
  where: Endpoint,
  parts: EndpointParts & { readonly resetTokens: (local: Endpoint) => ResetTokens },
) => Promise<ServerEndpoint>;

/** A connection that is being established, and its own socket. */
export interface DialledQuic {
  readonly connection: QuicConnection;
  readonly socket: DialledSocket;
  /**
   * Closes the connection with a code of HTTP/3, and its socket. CONNECTION_CLOSE was sent before this returns, since
   * the process may be about to exit.
   */
  close(code: number): void;
}

/** A request to dial a server. */
export interface DialRequest extends EndpointParts {
  /** The server's IP address and port. */
  readonly server: Endpoint;
  readonly tls: ClientTls;
  readonly handlers: QuicHandlers;
}

/**
 * Starts a connection from a socket of its own, which is released with it.
 * @throws the system's error.
 */
export type DialServer = (request: DialRequest) => Promise<DialledQuic>;

const CONNECTION: ConnectionSettings = {
  ...DEFAULT_SETTINGS,
  idleTimeout: IDLE_MS,
  maxDatagramFrameSize: LONGEST_DATAGRAM_FRAME,
  // The reference's client omits the transport parameter when it does not imitate a browser.
  acceptUnannouncedDatagrams: true,
};

/** Where endpoints have their sockets. */
interface Means {
  readonly sockets: BindDatagrams;
  /** For tests: schedules turns of the event loop. */
  readonly soon?: Defer;
}

/** Returns the endpoints of both sides on such sockets. */
export function endpointsOn(means: Means): {
  readonly bindServer: BindServer;
  readonly dialServer: DialServer;
} {
  return {
    bindServer: async (where, parts) => {
      const endpoint = await bindEndpoint(where, parts, means);
      return {
        local: endpoint.local,
        closed: endpoint.closed,
        serve: (reception) =>
          endpoint.serve({ ...reception, connection: { ...CONNECTION, authenticates: true } }),
        close: (code) => endpoint.close(code),
      };
    },
    dialServer: async ({ server, tls, handlers, ...parts }) => {
      const remote = numericEndpoint(server.host, server.port);
      if (!remote) throw new NoSuchAddressError(server.host);
      const wildcard = ipVersion(server.host) === 4 ? '0.0.0.0' : '::';
      const endpoint = await bindEndpoint({ host: wildcard, port: 0 }, parts, means);
      try {
        const connection = endpoint.dial(remote, {
          tls,
          handlers,
          connection: { ...CONNECTION, keepAlive: KEEP_ALIVE_MS },
        });
        const close = (code: number): void => endpoint.close(code);
        return { connection, socket: dialledUdp(endpoint), close };
      } finally {
        // The endpoint is released with the connection, or at once without one.
        endpoint.retire();
      }
    },
  };
}

export const { bindServer, dialServer } = endpointsOn({
  sockets: (options, handlers) => systemSockets().bindDatagrams(options, handlers),
});

/** An address with a zone that does not exist on this host. */
class NoSuchAddressError extends WeirError {
  constructor(host: string) {
    super('EADDRNOTAVAIL', `this host has no such address: ${host}`);
  }
}

function bindEndpoint(
  { host, port }: Endpoint,
  {
    obfuscation,
    ...parts
  }: EndpointParts & { readonly resetTokens?: (local: Endpoint) => ResetTokens },
  { sockets, soon }: Means,
): Promise<QuicEndpoint> {
  const local = numericEndpoint(host, port);
  if (!local) return Promise.reject(new NoSuchAddressError(host));
  const { random } = parts;
  return QuicEndpoint.bind(sockets, local, {
    ...parts,
    soon,
    obfuscation: obfuscation === undefined ? undefined : new Salamander(obfuscation, random),
  });
}
