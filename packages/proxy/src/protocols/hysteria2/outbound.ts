import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { CaBundleError, NoCertificateError, parseCaBundle } from '@weir/crypto/certificates';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { type DialObserver, abortedDial, DeadlineError, DialError, toDialError } from '@weir/io';
import { connectAny } from '@weir/io/sockets';
import type { ByteLink, PacketLink, WireCounter } from '@weir/io/links';
import { chainGroup, type DialOrigin } from '@weir/io/net/own-listeners';
import { RepeatedDial } from '@weir/io/layers';
import { resumedInTurns, unlessAborted } from '@weir/io/time';
import type { ClientTls } from '@weir/quic';
import type { CaSpec, TlsClientSpec } from '../../spec.ts';
import { QuicClientTls } from '../../transports/tls/quic.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import {
  ClientConnection,
  RetryableRequestError,
  establish,
  type EstablishedConnection,
} from './client/client-connection.ts';
import { dialServer, type DialServer } from './quic-endpoints.ts';
import { MOST_CONNECTIONS } from './limits.ts';
import type { Hysteria2OutboundSettings } from './settings.ts';

/** The system services that a client uses; tests substitute them. */
interface ClientMeans {
  readonly dial: DialServer;
  readonly createTls: (spec: TlsClientSpec) => ClientTls;
  readonly random?: RandomSource;
}

const SYSTEM: ClientMeans = { dial: dialServer, createTls: (spec) => new QuicClientTls(spec) };

/** A connection that is being established, on which flows wait. */
interface Connecting {
  readonly dial: RepeatedDial<ClientConnection>;
  readonly connection: Promise<ClientConnection>;
}

/** Connections on which one request is tried: the server of the first may have gone away without a CONNECTION_CLOSE. */
const ATTEMPTS = 2;

/**
 * The client of one server. All flows of one chain share a connection, which is established for the first of them,
 * and again after its end. Flows that wait for the connection share an error of the server; the time limit for a silent
 * server is counted for each of them.
 */
export class Hysteria2Outbound implements Outbound {
  readonly #settings: Hysteria2OutboundSettings;
  readonly #context: OutboundContext;
  readonly #means: ClientMeans;
  readonly #random: RandomSource;
  readonly #server: Endpoint;
  /** The connection for new flows, by chain. */
  readonly #connections = new Map<string, ClientConnection>();
  readonly #connecting = new Map<string, Connecting>();
  /** All connections that have not ended, including those that accept no new flow. */
  readonly #live = new Set<ClientConnection>();
  readonly #closing = new AbortController();
  #tls: ClientTls | undefined;
  #streams = 0;

  constructor(settings: Hysteria2OutboundSettings, context: OutboundContext, means = SYSTEM) {
    if (!context.server) throw new RangeError('a Hysteria 2 outbound has a server');
    this.#settings = settings;
    this.#context = context;
    this.#means = means;
    this.#random = means.random ?? new SystemRandomSource();
    this.#server = context.server;
  }

  async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    if (this.#streams >= this.#settings.maxConcurrentStreams) {
      throw new DialError('failed', 'connection is at its concurrent-stream limit');
    }
    this.#streams++;
    try {
      const link = await this.#onLive(options, (connection) =>
        connection.connect(destination, options.signal),
      );
      void link.closed.then(() => this.#streams--);
      return link;
    } catch (error) {
      this.#streams--;
      throw error;
    }
  }

  associate(options: DialOptions): Promise<PacketLink> {
    return this.#onLive(options, (connection) => connection.associate());
  }

  close(): void {
    this.#closing.abort(new DialError('aborted', 'the outbound was closed'));
    for (const connection of this.#live) connection.close();
    this.#tls?.[Symbol.dispose]();
  }

  /** Opens a flow; on another connection if the first one is lost before the flow has a response. */
  async #onLive<Link>(
    options: DialOptions,
    open: (connection: ClientConnection) => Link | Promise<Link>,
  ): Promise<Link> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#connection(options);
      try {
        return await open(connection);
      } catch (error) {
        if (!(error instanceof RetryableRequestError)) throw error;
        if (attempt < ATTEMPTS) continue;
        throw this.#failure('upstream', error.message, error);
      }
    }
  }

  /** Returns the connection of that chain. The signal ends the wait for it, not the connection. */
  async #connection({ signal, origin, observe }: DialOptions): Promise<ClientConnection> {
    const group = origin ? chainGroup(origin) : '';
    const known = this.#connections.get(group);
    if (known?.isUsable) {
      observe?.('reused');
      return known;
    }
    const connecting = this.#connecting.get(group) ?? this.#open(group, origin, observe);
    connecting.dial.join();
    return unlessAborted(resumedInTurns(connecting.connection), signal, (aborted) => {
      const failure = abortedDial(aborted, this.#server);
      if (failure.code !== 'timed_out' || !connecting.dial.isSilent) return failure;
      return new DialError('timed_out', `${failure.message}; ${this.#causesOfSilence}`, {
        cause: failure,
      });
    });
  }

  #open(
    group: string,
    origin: DialOrigin | undefined,
    observe: DialObserver | undefined,
  ): Connecting {
    if (this.#live.size + this.#connecting.size >= MOST_CONNECTIONS) {
      throw this.#failure('upstream', `none of ${MOST_CONNECTIONS} connections responds`);
    }
    const { signal } = this.#closing;
    const dial = new RepeatedDial<ClientConnection>({
      clock: this.#context.clock,
      attempt: (attempt, onWire) => this.#attempt({ origin, signal: attempt, observe }, onWire),
      discard: (connection) => connection.close(),
      signal,
    });
    const connection = dial.made.then(
      (made) => this.#keep(group, made),
      (error: unknown) => {
        if (signal.aborted) throw abortedDial(signal, this.#server);
        if (!(error instanceof DeadlineError)) throw error;
        const causes = dial.isSilent ? `; ${this.#causesOfSilence}` : '';
        throw this.#failure('timed_out', `${error.message}${causes}`, error);
      },
    );
    const connecting = { dial, connection };
    this.#connecting.set(group, connecting);
    const over = (): void => void this.#connecting.delete(group);
    connection.then(over, over);
    return connecting;
  }

  #keep(group: string, connection: ClientConnection): ClientConnection {
    if (this.#closing.signal.aborted) {
      connection.close();
      throw abortedDial(this.#closing.signal, this.#server);
    }
    this.#connections.set(group, connection);
    this.#live.add(connection);
    void connection.ended.then(() => {
      this.#live.delete(connection);
      if (this.#connections.get(group) === connection) this.#connections.delete(group);
    });
    return connection;
  }

  /** Makes one attempt: handshake and authentication. */
  async #attempt(
    options: DialOptions,
    onWire: (wire: WireCounter) => void,
  ): Promise<ClientConnection> {
    const { signal, observe } = options;
    const established = await this.#establish(options, onWire);
    observe?.('secured');
    const parts = { clock: this.#context.clock, random: this.#random, target: this.#server };
    const { password } = this.#settings;
    const made = await ClientConnection.authenticate(established, password, parts, signal);
    observe?.('carried');
    return made;
  }

  /** Completes a QUIC handshake with one of the server's addresses. */
  async #establish(
    { origin, signal, observe }: DialOptions,
    onWire: (wire: WireCounter) => void,
  ): Promise<EstablishedConnection> {
    const { clock, resolver, family, ownListeners } = this.#context;
    const { host, port } = this.#server;
    try {
      const tls = (this.#tls ??= this.#createTls());
      const addresses = await resolver.resolve(host, family, signal);
      observe?.('resolved');
      return await connectAny(
        addresses,
        (address, attempt) => {
          const server = { host: address, port };
          const onSocket = origin && ownListeners.check(server, origin, false, 'udp');
          const { obfuscation } = this.#settings;
          return establish(
            { server, tls, clock, random: this.#random, obfuscation },
            this.#means.dial,
            this.#server,
            { signal: attempt, onSocket, onWire },
          );
        },
        {
          clock,
          signal,
          discard: ({ close }) => close(),
        },
      );
    } catch (error) {
      throw signal.aborted ? abortedDial(signal, this.#server) : toDialError(error, this.#server);
    }
  }

  /**
   * Creates the TLS settings of a connection.
   * @throws {DialError} for a CA file without certificates, which is parsed only here.
   */
  #createTls(): ClientTls {
    const { serverName, allowInsecure, ca } = this.#settings;
    return this.#means.createTls({ serverName, allowInsecure, ca: ca && parsedCa(ca) });
  }

  /** Possible causes of a silent server, which drops packets whose obfuscation it does not expect. */
  get #causesOfSilence(): string {
    const obfs = this.#settings.obfuscation
      ? 'it may have another obfs_password, or no obfs'
      : 'no obfs is set here, and a server with obfs stays silent like this';
    return `nothing came back from the server: ${obfs}; or it does not run there, or a firewall drops UDP`;
  }

  #failure(code: DialError['code'], what: string, cause?: Error): DialError {
    return new DialError(code, `${shownEndpoint(this.#server)}: ${what}`, { cause });
  }
}

function parsedCa({ file, content }: { file: string; content: string }): CaSpec {
  try {
    return { file, certificates: parseCaBundle(Buffer.from(content, 'latin1')) };
  } catch (error) {
    if (!(error instanceof CaBundleError)) throw error;
    const what =
      error instanceof NoCertificateError
        ? 'the CA file contains no certificates'
        : `the CA file ${file}: ${error.message}`;
    throw new DialError('failed', `hysteria2: ${what}`, { cause: error });
  }
}
