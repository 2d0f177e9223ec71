import type { RandomSource } from '../../crypto/random-source.ts';
import type { BindDatagrams, DatagramSocket, ReceivedDatagrams } from '../../ip/datagram-socket.ts';
import { addressBytes, addressText, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { asError } from '../../errors.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { Clock, Timer } from '../../net/time/clock.ts';
import { LinkClosedError } from '../../net/errors.ts';
import type { ConnectionCore, ConnectionDriver } from './connection-driver.ts';
import type { ConnectionSettings } from '../connection/connection-settings.ts';
import type { CommonOptions } from '../connection/connection-options.ts';
import { QuicCore, type ClientOptions, type ServerOptions } from '../connection/quic-core.ts';
import type { QuicConnection, QuicHandlers } from '../contract.ts';
import { inNextTurn, type Defer } from '../../net/time/turn-loop.ts';
import { Driver } from './driver.ts';
import { ClientAdmission, type Acceptance } from './admission/client-admission.ts';
import { Incoming } from './incoming.ts';
import { CLOSE_TIMEOUT, SOCKET_BUFFER } from './limits.ts';
import { OutgoingBatches } from './outgoing-batches.ts';
import { Connections } from './connections.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { PacketObfuscation } from './obfuscation.ts';
import { ResetTokens } from '../protection/tokens.ts';
import type { ClientTls, ServerTls } from '../connection/tls-handshake.ts';
import type { SharedWork } from './turn-work.ts';

/** How connections are made; a test gives scripted ones. */
export interface ConnectionMaker {
  client(options: ClientOptions): ConnectionCore;
  server(options: ServerOptions): ConnectionCore;
}

/** What an endpoint is made of. */
export interface EndpointOptions {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly obfuscation?: PacketObfuscation | undefined;
  /**
   * The tokens of stateless resets. Endpoints that follow each other on one address share them, so
   * that clients of the former learn at once that their connections are gone.
   */
  readonly resetTokens?: ResetTokens | ((local: Endpoint) => ResetTokens) | undefined;
  readonly connections?: ConnectionMaker | undefined;
  /** Tests give their own turns of the event loop. */
  readonly soon?: Defer | undefined;
}

/** What a server needs for its clients. It may be replaced: new clients get the new one. */
export interface ServerSettings {
  readonly tls: ServerTls;
  /** `maxDatagram` is for the wire: obfuscation and what the socket cannot do are taken off here. */
  readonly connection: ConnectionSettings;
  /**
   * Connections at the same time, those whose handshake is not complete included; further ones are
   * closed at once with CONNECTION_REFUSED.
   */
  readonly maxConnections: number;
  /** A client whose handshake is complete; nothing of it has been delivered yet. Must not throw. */
  readonly onConnection: (connection: QuicConnection) => QuicHandlers;
  /** A client got no connection, because TLS has refused to make its state. Must not throw. */
  readonly onFailure?: ((error: Error) => void) | undefined;
}

/** What a client needs for one connection. */
export interface DialSettings {
  readonly tls: ClientTls;
  /** As for `ServerSettings`. */
  readonly connection: ConnectionSettings;
  readonly handlers: QuicHandlers;
  /** From `onToken` of an earlier connection to this server. */
  readonly token?: Uint8Array | undefined;
  readonly onToken?: ((token: Uint8Array) => void) | undefined;
}

/** QUIC on one UDP socket: any number of connections, as a server, as a client, or both. */
export class QuicEndpoint {
  /** The bound address, with the port that the kernel chose. */
  readonly local: Endpoint;
  /** Resolves, never rejects, when the socket is released: with the error that closed it, if there was one. */
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
   * Opens the socket. Until `serve` is called, a client that appears gets no response.
   *
   * @param local where to bind: for a client a wildcard address of the server's family and port 0.
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
          const { endpoint } = opened;
          if (endpoint) endpoint.#incoming.receive(received, options.clock.now());
        },
        onDrained: () => {
          const { endpoint } = opened;
          if (endpoint) endpoint.#onDrained();
        },
        onWritable: () => {
          const { endpoint } = opened;
          if (endpoint) endpoint.#onWritable();
        },
      },
    );
    opened.endpoint = new QuicEndpoint(socket, options);
    return opened.endpoint;
  }

  private constructor(socket: DatagramSocket, options: EndpointOptions) {
    const { clock, random, obfuscation, soon = inNextTurn } = options;
    this.local = { host: addressText(socket.local), port: socket.local.port };
    const { resetTokens: given = new ResetTokens(random) } = options;
    const resetTokens = given instanceof ResetTokens ? given : given(this.local);
    this.#socket = socket;
    this.#clock = clock;
    this.#random = random;
    this.#obfuscation = obfuscation;
    this.#maker = options.connections ?? QuicCore;
    const outgoing = new OutgoingBatches(socket, obfuscation);
    const driver = new Driver({
      clock,
      outgoing,
      onTurnEnd: () => this.#onTurnEnd(),
      soon,
      sharedWork: this.#sharedWork,
    });
    const connections = new Connections(
      {
        clock,
        touch: (connection) => driver.touch(connection),
        onFault: (connection, error) => driver.fail(connection, error),
        onForgotten: (connection) => driver.remove(connection),
      },
      random,
      resetTokens,
    );
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

  /** Connections that have not ended. */
  get connections(): number {
    return this.#connections.live;
  }

  /** What is kept: connections, those that respond to stray packets included, and their ids. */
  get held(): { readonly connections: number; readonly ids: number } {
    return { connections: this.#connections.size, ids: this.#connections.ids };
  }

  /** Bytes of handshakes that wait for their turn. */
  get waitingBytes(): number {
    return this.#incoming.waitingBytes;
  }

  /** Datagrams that were not sent, and those that the kernel dropped for want of room. */
  get lost(): { readonly unsent: number; readonly overflowed: number } {
    return { unsent: this.#socket.dropped, overflowed: this.#socket.overflowed };
  }

  /** Accepts clients from now on; called again, it replaces the settings for new clients. */
  serve(settings: ServerSettings): void {
    if (this.#state === 'open') this.#settings = settings;
  }

  /**
   * Starts a connection to a server; `established` reports how its handshake ends.
   * @throws {LinkClosedError} on an endpoint that is retired or closed, and what TLS throws.
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
    this.#driver.touch(dialled);
    return dialled;
  }

  /**
   * Accepts no client from now on and dials no more; live connections go on. The socket is released
   * with the last one.
   */
  retire(): void {
    if (this.#state !== 'open') return;
    this.#state = 'retired';
    this.#settings = undefined;
    this.#releaseIfDone();
  }

  /**
   * Closes all connections with CONNECTION_CLOSE of the application's code, so that the peers can
   * reconnect at once, and then releases the socket.
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
      // No memory for another handshake of TLS, say: the client sends its packet again.
      settings.onFailure?.(asError(error));
      return undefined;
    }
  }

  #common(settings: ConnectionSettings): Pick<CommonOptions, 'settings' | 'random' | 'sharedWork'> {
    const { dontFragment, ecn } = this.#socket.features;
    // A search for the MTU proves nothing where datagrams are fragmented.
    const most = dontFragment ? settings.maxDatagram : MIN_DATAGRAM;
    const maxDatagram = Math.max(MIN_DATAGRAM, most - (this.#obfuscation?.overhead ?? 0));
    return {
      settings: { ...settings, maxDatagram, ecn: settings.ecn && ecn },
      random: this.#random,
      sharedWork: this.#sharedWork,
    };
  }

  #onDrained(): void {
    this.#incoming.respond();
  }

  #onWritable(): void {
    this.#outgoing.onWritable();
    this.#incoming.respond();
  }

  #onTurnEnd(): void {
    if (this.#state === 'closing' && this.#driver.isIdle) this.#soon(this.#closeSocket);
    else this.#releaseIfDone();
  }

  /** One turn later: Node's sockets send what they are given a little later. */
  readonly #closeSocket = (): void => {
    if (this.#driver.isIdle) this.#socket.close();
  };

  #releaseIfDone(): void {
    if (this.#state === 'retired' && this.#connections.size === 0) this.#socket.close();
  }

  /** The socket is released: nothing can be sent or received any more. */
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
