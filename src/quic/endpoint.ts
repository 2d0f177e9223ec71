import type { RandomSource } from '../crypto/random-source.ts';
import type {
  DatagramHandlers,
  DatagramSocket,
  DatagramSocketOptions,
} from '../ip/datagram-socket.ts';
import type { IpEndpoint } from '../ip/ip-endpoint.ts';
import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import type { QuicConnection, QuicHandlers } from './contract.ts';
import type { PacketObfuscation } from './obfuscation.ts';

/** What an endpoint is made of. */
export interface EndpointOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly obfuscation?: PacketObfuscation | undefined;
}

/** How to open the socket: `systemSockets().bindDatagrams`. */
export type BindDatagrams = (
  options: DatagramSocketOptions,
  handlers: DatagramHandlers,
) => Promise<DatagramSocket>;

/** What a server needs for its clients. It may be replaced: new clients get the new one. */
export interface ServerSettings {
  // plus `tls: ServerTls` and the settings of a connection (qcore).
  /**
   * Connections at the same time, those whose handshake is not complete included; further ones are
   * closed at once with CONNECTION_REFUSED.
   */
  readonly maxConnections: number;
  /**
   * A client whose handshake is complete; nothing of it has been delivered yet. Must not throw.
   */
  readonly onConnection: (connection: QuicConnection) => QuicHandlers;
}

/** What a client needs for one connection. */
export interface DialSettings {
  // plus `tls: ClientTls` and the settings of a connection (qcore).
  readonly handlers: QuicHandlers;
}

/** QUIC on one UDP socket: any number of connections, as a server, as a client, or both. */
export declare class QuicEndpoint {
  /**
   * Opens the socket. Until `serve` is called, a client that appears gets no answer.
   *
   * @param local where to bind: for a client a wildcard address of the server's family and port 0.
   * @throws the system's error (`EADDRINUSE`, …).
   */
  static bind(
    bind: BindDatagrams,
    local: IpEndpoint,
    options: EndpointOptions,
  ): Promise<QuicEndpoint>;
  /** The bound address, with the port that the kernel chose. */
  readonly local: Endpoint;
  /** Connections that have not ended. */
  readonly connections: number;
  /** Accepts clients from now on; called again, it replaces the settings for new clients. */
  serve(settings: ServerSettings): void;
  /** Starts a connection to a server; `established` reports how its handshake ends. */
  dial(remote: IpEndpoint, settings: DialSettings): QuicConnection;
  /**
   * Accepts no client from now on and dials no more; live connections go on. The socket is released
   * with the last one.
   */
  retire(): void;
  /**
   * Closes all connections with CONNECTION_CLOSE of the application's code, so that the peers can
   * reconnect at once, and then releases the socket.
   */
  close(code: number, reason?: string): void;
  /** Resolves, never rejects, when the socket is released: with the error that closed it, if there was one. */
  readonly closed: Promise<Error | undefined>;
}
