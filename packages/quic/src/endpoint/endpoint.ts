import type { RandomSource } from '@weir/base/random';
import {
  type BindDatagrams,
  type DatagramSocket,
  type ReceivedDatagrams,
  addressBytes,
  endpointText,
  type IpEndpoint,
} from '@weir/base/ip';
import { asError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import { type Clock, type Defer, inNextTurn, type Timer } from '@weir/io/time';
import { LinkClosedError } from '@weir/io';
import type { ConnectionCore, ConnectionDriver } from './connection-driver.ts';
import type { ConnectionSettings, CommonOptions } from '../connection/connection-options.ts';
import { QuicCore, type ClientOptions, type ServerOptions } from '../connection/quic-core.ts';
import type { QuicConnection, QuicHandlers, ClientTls, ServerTls } from '../contract.ts';
import { Driver, OutgoingBatches, type PacketObfuscation } from './driver.ts';
import { ClientAdmission, type Acceptance } from './client-admission.ts';
import { Incoming } from './incoming.ts';
import { CLOSE_TIMEOUT, SOCKET_BUFFER, MIN_DATAGRAM } from '../limits.ts';
import { Connections } from './connections.ts';
import { ResetTokens } from '../protection/tokens.ts';
import type { SharedWork } from '../packets/turn-work.ts';

/** Creates the cores of connections; tests create scripted ones. */
interface ConnectionMaker {
  client(options: ClientOptions): ConnectionCore;
  server(options: ServerOptions): ConnectionCore;
}

/** The options of an endpoint. */
export interface EndpointOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly obfuscation?: PacketObfuscation | undefined;
  /**
   * The tokens of stateless resets. Consecutive endpoints on one address share them, so that clients of the previous
   * one learn at once that their connections are gone.
   */
  readonly resetTokens?: ResetTokens | ((local: Endpoint) => ResetTokens) | undefined;
  readonly connections?: ConnectionMaker | undefined;
  /** For tests: schedules turns of the event loop. */
  readonly soon?: Defer | undefined;
}

/** The settings of a server. They may be replaced, with effect for new clients. */
export interface ServerSettings {
  readonly tls: ServerTls;
  /**
   * Settings of the connections; `maxDatagram` is the size on the wire: the endpoint subtracts the overhead of
   * obfuscation.
   */
  readonly connection: ConnectionSettings;
  /**
   * Concurrent connections, including those whose handshake is not complete; further ones are
   * closed at once with CONNECTION_REFUSED.
   */
  readonly maxConnections: number;
  /** Called when the handshake of a client is complete, before any of its data is delivered. Must not throw. */
  readonly onConnection: (connection: QuicConnection) => QuicHandlers;
  /** Called when a client got no connection because TLS could not allocate its state. Must not throw. */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

/** The settings of a client's connection. */
export interface DialSettings {
  readonly tls: ClientTls;
  /** Settings of the connection; `maxDatagram` is the size on the wire, as for `ServerSettings`. */
  readonly connection: ConnectionSettings;
  readonly handlers: QuicHandlers;
  /** The token of `onToken` of an earlier connection to this server. */
  readonly token?: Uint8Array | undefined;
  readonly onToken?: ((token: Uint8Array) => void) | undefined;
}

/** A QUIC endpoint on one UDP socket: any number of connections, as a server, as a client, or both. */
export class QuicEndpoint {
  /** The bound address, with the port that the kernel chose. */
  readonly local: Endpoint;
  /** Resolves, never rejects, when the socket is released: with the error that closed it, if any. */
  readonly closed: Promise<Error | undefined>;
  readonly #socket: DatagramSocket;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #obfuscation: PacketObfuscation | undefined;
  readonly #maker: ConnectionMaker;
  readonly #outgoing: OutgoingBatches;
  readonly #soon: Defer;
  readonly #sharedWork: SharedWork = { frames: 0 };
  readonly #driver: Driver;
  readonly #admission: ClientAdmission;
  readonly #connections: Connections;
  readonly #incoming: Incoming;
  #settings: ServerSettings | undefined;
  #state: 'open' | 'retired' | 'closing' | 'released' = 'open';
  #closeTimer: Timer | undefined;

  /**
   * Opens the socket. Until `serve` is called, clients get no response.
   *
   * @param local the address to bind: for a client a wildcard address of the server's family and port 0.
   * @throws the system's error (`EADDRINUSE`, …).
   */
  static async bind(
    bind: BindDatagrams,
    local: IpEndpoint,
    options: EndpointOptions,
  ): Promise<QuicEndpoint> {
    const opened: { endpoint?: QuicEndpoint } = {};
    const socket = await bind(
      {
        local,
        receiveBuffer: SOCKET_BUFFER,
        sendBuffer: SOCKET_BUFFER,
        details: true,
        coalesce: true,
        dontFragment: true,
      },
      {
        onDatagrams: (received) => {
          if (opened.endpoint) opened.endpoint.#incoming.receive(received, options.clock.now());
        },
        onDrained: () => {
          if (opened.endpoint) opened.endpoint.#incoming.serveAll();
        },
        onWritable: () => {
          if (opened.endpoint) opened.endpoint.#onWritable();
        },
      },
    );
    opened.endpoint = new QuicEndpoint(socket, options);
    return opened.endpoint;
  }

  private constructor(socket: DatagramSocket, options: EndpointOptions) {
    const { clock, random, obfuscation, soon = inNextTurn } = options;
    this.local = endpointText(socket.local);
    const { resetTokens: given = new ResetTokens(random) } = options;
    const resetTokens = given instanceof ResetTokens ? given : given(this.local);
    this.#socket = socket;
    this.#clock = clock;
    this.#random = random;
    this.#obfuscation = obfuscation;
    this.#maker = options.connections ?? QuicCore;
    const outgoing = new OutgoingBatches(socket, obfuscation);
    const driver = new Driver(clock, outgoing, soon, this.#sharedWork, () => this.#onTurnEnd());
    const connections = new Connections(clock, driver, random, resetTokens);
    this.#outgoing = outgoing;
    this.#soon = soon;
    this.#driver = driver;
    this.#connections = connections;
    this.#admission = new ClientAdmission(random, obfuscation === undefined);
    this.#incoming = new Incoming({
      clock,
      soon,
      run: () => driver.run(),
      connections,
      admission: this.#admission,
      outgoing,
      obfuscation,
      random,
      resetTokens,
      maxConnections: () => this.#settings?.maxConnections,
      accept: (acceptance, received, now) => this.#accept(acceptance, received, now),
    });
    this.closed = socket.closed.then((cause) => {
      this.#onReleased();
      return cause;
    });
  }

  /** Number of connections that have not ended. */
  get connections(): number {
    return this.#connections.live;
  }

  /** Numbers of connections, including those in the closing or draining state, and of their ids. */
  get held(): { readonly connections: number; readonly ids: number } {
    return { connections: this.#connections.size, ids: this.#connections.table.size };
  }

  /** Bytes of the datagrams in the handshake queue. */
  get waitingBytes(): number {
    return this.#incoming.waitingBytes;
  }

  /** Numbers of datagrams that were not sent, and that the kernel dropped because its buffer was full. */
  get lost(): { readonly unsent: number; readonly overflowed: number } {
    return { unsent: this.#socket.dropped, overflowed: this.#socket.overflowed };
  }

  /** Accepts clients. Called again, it replaces the settings for new clients. */
  serve(settings: ServerSettings): void {
    if (this.#state === 'open') this.#settings = settings;
  }

  /**
   * Starts a connection to a server; its `established` promise reports the result of the handshake.
   * @throws {LinkClosedError} if the endpoint is retired or closed, and errors of TLS.
   */
  dial(remote: IpEndpoint, settings: DialSettings): QuicConnection {
    if (this.#state !== 'open') throw new LinkClosedError('the QUIC endpoint is closed');
    const { tls, connection, handlers, token, onToken } = settings;
    const dialled = this.#connections.add({ onToken, start: () => handlers }, (ids) =>
      this.#maker.client({
        ...this.#common(connection),
        tls,
        ids,
        remote,
        now: this.#clock.now(),
        token,
      }),
    );
    dialled.touch();
    return dialled;
  }

  /** Stops accepting clients and dialling; live connections continue. The socket is released with the last one. */
  retire(): void {
    if (this.#state !== 'open') return;
    this.#state = 'retired';
    this.#settings = undefined;
    this.#releaseIfDone();
  }

  /**
   * Closes all connections with CONNECTION_CLOSE and the application's code, so that the peers can reconnect
   * at once, and then releases the socket.
   */
  close(code: number, reason = ''): void {
    if (this.#state === 'closing' || this.#state === 'released') return;
    this.#state = 'closing';
    this.#settings = undefined;
    for (const connection of this.#connections.all()) connection.close(code, reason);
    this.#closeTimer = this.#clock.after(CLOSE_TIMEOUT, () => this.#socket.close());
    this.#driver.run();
  }

  #accept(
    acceptance: Acceptance,
    { peer, own }: ReceivedDatagrams,
    now: number,
  ): ConnectionDriver | undefined {
    const settings = this.#settings;
    if (!settings) return undefined;
    const { originalId, retrySourceId, clientId, isValidated } = acceptance;
    try {
      const { authenticates } = settings.connection;
      const client = { isValidated, authenticates };
      return this.#connections.add({ client, start: settings.onConnection }, (ids) =>
        this.#maker.server({
          ...this.#common(settings.connection),
          tls: settings.tls,
          ids,
          remote: peer,
          local: own,
          now,
          originalId,
          retrySourceId,
          clientId,
          isValidated,
          makeToken: (address, at) => this.#admission.tokens.newToken(addressBytes(address), at),
        }),
      );
    } catch (error) {
      // For example, there was no memory for another TLS handshake: the client retransmits its packet.
      settings.onFailure?.(asError(error));
      return undefined;
    }
  }

  #common(settings: ConnectionSettings): Pick<CommonOptions, 'settings' | 'random' | 'sharedWork'> {
    const { dontFragment, ecn } = this.#socket.features;
    // Where datagrams are fragmented, a search for the MTU is meaningless.
    const most = dontFragment ? settings.maxDatagram : MIN_DATAGRAM;
    const maxDatagram = Math.max(MIN_DATAGRAM, most - (this.#obfuscation?.overhead ?? 0));
    return {
      settings: { ...settings, maxDatagram, ecn: settings.ecn && ecn },
      random: this.#random,
      sharedWork: this.#sharedWork,
    };
  }

  #onWritable(): void {
    this.#outgoing.onWritable();
    this.#incoming.serveAll();
  }

  #onTurnEnd(): void {
    if (this.#state === 'closing' && this.#driver.isIdle) this.#soon(this.#closeSocket);
    else this.#releaseIfDone();
  }

  /** Closes the socket, in a later turn: Node's sockets send asynchronously. */
  readonly #closeSocket = (): void => {
    if (this.#driver.isIdle) this.#socket.close();
  };

  #releaseIfDone(): void {
    if (this.#state === 'retired' && this.#connections.size === 0) this.#socket.close();
  }

  /** Called when the socket is released: nothing can be sent or received any more. */
  #onReleased(): void {
    this.#state = 'released';
    this.#settings = undefined;
    this.#closeTimer?.cancel();
    for (const connection of this.#connections.all()) connection.abandon();
    this.#driver.stop();
    this.#incoming.stop();
    this.#admission[Symbol.dispose]();
  }
}
