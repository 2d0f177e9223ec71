import { type Endpoint, shownEndpoint } from '@weir/io/addresses';
import { abortedDial, DeadlineError, DialError, type DialObserver, ProtocolError } from '@weir/io';
import { type Clock, resumedInTurns, type Timer, unlessAborted } from '@weir/io/time';
import type { DatagramUse } from '@weir/io/sockets';
import { type ByteLink, type Carrier, endInTurns, type WireCounter } from '@weir/io/links';
import { RepeatedDial } from '@weir/io/layers';
import { messageOf } from '@weir/base';
import { Http2Driver, type Http2Stream } from '@weir/http/http2';
import type { HttpField } from '@weir/http/fields';
import type { PreConnectCheck, DialerOptions } from '../dial-tcp.ts';
import type { OutboundCarrierSpec } from '../../spec.ts';
import {
  CONNECTION_LIMIT,
  IDLE_CONNECTION_MS,
  REQUEST_PROBE_MS,
  REQUEST_SILENCE_MS,
  REUSE_PROBE_MS,
  REUSE_SILENCE_MS,
} from '../limits.ts';
import { type GrpcCall, RepeatableLink } from './repeatable-link.ts';
import type { GrpcTunnel } from './server.ts';
import { CONNECTION_WINDOW, CONTENT_TYPE, SETTINGS, tunnelPath } from './settings.ts';
import { Tunnels } from './link.ts';
import type { PeerWatch } from './peer-watch.ts';

type WatchedPeer = Pick<PeerWatch, 'silence' | 'responds'>;

/**
 * Detects a server that does not respond to sent data: the path of a connection fails with its local address, which TCP
 * detects only after a quarter of an hour. `PeerWatch` waits longer, since it closes the connection with all its
 * tunnels; `RequestWatch` only moves datagrams and new tunnels to another connection.
 */
export class RequestWatch {
  readonly #clock: Clock;
  readonly #peer: WatchedPeer;
  readonly #onSilent: () => void;
  #timer: Timer | undefined;
  #sentAt = 0;
  #isProbing = false;

  /** @param onSilent called when the server does not respond. */
  constructor(clock: Clock, peer: WatchedPeer, onSilent: () => void) {
    this.#clock = clock;
    this.#peer = peer;
    this.#onSilent = onSilent;
  }

  /** Called after each request and each datagram; starts a watch unless one is in progress. */
  readonly onSent = (): void => {
    this.#sentAt = this.#clock.now();
    if (!this.#timer && !this.#isProbing) this.#arm(REQUEST_SILENCE_MS);
  };

  /** Ends the current watch. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => {
      this.#timer = undefined;
      const { silence } = this.#peer;
      if (silence >= REQUEST_SILENCE_MS) void this.#probe();
      // The received data may be a response to something sent earlier.
      else if (this.#sentAt >= this.#clock.now() - silence) this.#arm(REQUEST_SILENCE_MS - silence);
    });
  }

  async #probe(): Promise<void> {
    this.#isProbing = true;
    const responds = await this.#peer.responds(REQUEST_PROBE_MS);
    this.#isProbing = false;
    if (!responds) this.#onSilent();
  }
}

/** Number of new connections tried for one dial: the server may be closing the first. */
const ATTEMPTS = 2;

type GrpcSpec = Extract<OutboundCarrierSpec, { kind: 'grpc' }>;

interface OpenedCall extends GrpcCall {
  readonly below: Carrier;
}

/** A connection attempt for which dials wait. */
interface Connecting {
  readonly dial: RepeatedDial<TunnelConnection>;
  readonly connection: Promise<TunnelConnection>;
}

/** Connects to the server, with or without TLS. */
export type GrpcConnect = (options: {
  readonly signal: AbortSignal;
  readonly preConnect?: PreConnectCheck | undefined;
  readonly observe?: DialObserver | undefined;
}) => Promise<Carrier>;

/**
 * The client side of gRPC tunnels to one server. Tunnels of one group share a connection. A connection that the server
 * is closing, that is full or that does not respond keeps its tunnels; the next tunnel uses a new connection.
 */
export class GrpcClient {
  readonly #request: readonly HttpField[];
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #open: GrpcConnect;
  readonly #connections = new Set<TunnelConnection>();
  /** Connection attempts by group. */
  readonly #connecting = new Map<string, Connecting>();
  readonly #closing = new AbortController();

  /**
   * @param isSecure whether `open` establishes connections with TLS.
   * @param open connects to the server.
   */
  constructor(
    spec: GrpcSpec,
    server: Endpoint,
    clock: Clock,
    isSecure: boolean,
    open: GrpcConnect,
  ) {
    this.#request = requestOf(spec, isSecure);
    this.#server = server;
    this.#clock = clock;
    this.#open = open;
  }

  /**
   * Opens a tunnel without waiting for the server's response; a call that the server refuses unprocessed is repeated.
   * @throws {DialError} if the server cannot be reached, or accepts no tunnel on a new connection.
   */
  async tunnel(options: DialerOptions): Promise<GrpcTunnel & { readonly below: Carrier }> {
    const call = await this.#call(options);
    const again = (signal: AbortSignal): Promise<GrpcCall> =>
      this.#call({ ...options, signal, observe: undefined });
    const link = new RepeatableLink(call, again, this.#clock);
    return { link, wire: link, below: call.below };
  }

  async #call({
    signal,
    preConnect,
    group = '',
    observe,
    use,
  }: DialerOptions): Promise<OpenedCall> {
    let barren = 0;
    for (;;) {
      if (signal.aborted) throw abortedDial(signal, this.#server);
      const shared = this.#shared(group);
      if (shared) {
        if (shared.isHeard) {
          observe?.('reused');
          return shared.call(use);
        }
        await unless(signal, this.#server, shared.probe());
        continue;
      }
      const fresh = await this.#connection(signal, group, preConnect, observe);
      if (signal.aborted) throw abortedDial(signal, this.#server);
      if (fresh.usable) {
        observe?.('carried');
        return fresh.call(use);
      }
      // Other dials have used up its capacity; in each round at least one of them gets a tunnel.
      if (fresh.carried) continue;
      fresh.destroy();
      if (++barren === ATTEMPTS) throw this.#failure('the server accepts no tunnels');
    }
  }

  /** Closes all connections; those without open tunnels once the remaining data of released tunnels is sent. */
  close(): void {
    this.#closing.abort(new DialError('aborted', 'the outbound was closed'));
    for (const connection of this.#connections) connection.close();
  }

  /** Returns a connection of a group that accepts another tunnel, if any. */
  #shared(group: string): TunnelConnection | undefined {
    for (const each of this.#connections) if (each.group === group && each.usable) return each;
    return undefined;
  }

  /** Returns the connection attempt of a group, shared by all dials that wait for one. */
  #connection(
    signal: AbortSignal,
    group: string,
    preConnect?: PreConnectCheck,
    observe?: DialObserver,
  ): Promise<TunnelConnection> {
    const connecting = this.#connecting.get(group) ?? this.#begin(group, preConnect, observe);
    connecting.dial.join();
    return unless(signal, this.#server, resumedInTurns(connecting.connection));
  }

  #begin(group: string, preConnect?: PreConnectCheck, observe?: DialObserver): Connecting {
    if (this.#connections.size + this.#connecting.size >= CONNECTION_LIMIT) {
      throw this.#failure(`none of ${CONNECTION_LIMIT} connections accepts another tunnel`);
    }
    const { signal } = this.#closing;
    const dial = new RepeatedDial<TunnelConnection>({
      clock: this.#clock,
      attempt: (attempt, onWire) => this.#connect(group, attempt, onWire, preConnect, observe),
      discard: (connection) => connection.destroy(),
      signal,
    });
    const connection = dial.made.catch((error: unknown) => {
      if (signal.aborted) throw abortedDial(signal, this.#server);
      if (!(error instanceof DeadlineError)) throw error;
      const text = `${shownEndpoint(this.#server)}: ${error.message}`;
      throw new DialError('timed_out', text, { cause: error });
    });
    const connecting = { dial, connection };
    this.#connecting.set(group, connecting);
    const over = (): void => void this.#connecting.delete(group);
    connection.then(over, over);
    return connecting;
  }

  #failure(why: string): DialError {
    return new DialError('upstream', `${shownEndpoint(this.#server)}: HTTP/2: ${why}`);
  }

  /** Makes one attempt to connect. */
  async #connect(
    group: string,
    signal: AbortSignal,
    onWire: (wire: WireCounter) => void,
    preConnect?: PreConnectCheck,
    observe?: DialObserver,
  ): Promise<TunnelConnection> {
    const below = await this.#open({ signal, preConnect, observe });
    onWire(below.wire);
    const connection = new TunnelConnection(this.#request, group, below, this.#server, this.#clock);
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    try {
      await unless(signal, this.#server, connection.ready);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  }
}

/** One HTTP/2 connection of a client. */
class TunnelConnection {
  /** The group of the tunnels on the connection. */
  readonly group: string;
  /** Resolves when the server's SETTINGS are received. */
  readonly ready: Promise<void>;
  /** Resolves when the connection is closed. */
  readonly ended: Promise<void>;
  readonly #request: readonly HttpField[];
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #below: Carrier;
  readonly #driver: Http2Driver;
  readonly #tunnels: Tunnels;
  readonly #watch: RequestWatch;
  /** Tunnels of datagrams, which can move to another connection. */
  readonly #datagrams = new Set<ByteLink>();
  #carried = false;
  #retired = false;
  #idle: Timer;

  constructor(
    request: readonly HttpField[],
    group: string,
    below: Carrier,
    server: Endpoint,
    clock: Clock,
  ) {
    this.group = group;
    this.#request = request;
    this.#server = server;
    this.#clock = clock;
    this.#below = below;
    const ready = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.ended = ended.promise;
    // A rejection that no dial waits for must not be unhandled.
    ready.promise.catch(() => undefined);
    const options = {
      role: 'client',
      settings: SETTINGS,
      connectionWindow: CONNECTION_WINDOW,
    } as const;
    this.#driver = new Http2Driver(below.link, clock, options, {
      onPeerSettings: () => ready.resolve(),
      onGoAway: () => this.#retire(),
      onEnd: (cause) => {
        this.#retired = true;
        this.#idle.cancel();
        this.#tunnels.watch.stop();
        this.#watch.stop();
        const reason = cause ? messageOf(cause) : 'the server closed the connection';
        const message = `${shownEndpoint(server)}: HTTP/2: ${reason.replace(/^HTTP\/2: /, '')}`;
        ready.reject(new DialError('upstream', message, { cause }));
        ended.resolve();
      },
    });
    this.#tunnels = new Tunnels(this.#driver, below.wire, {
      clock,
      trailers: undefined,
      onEmpty: () => this.#rest(),
    });
    this.#watch = new RequestWatch(clock, this.#tunnels.watch, () => this.#onSilent());
    // The dial that requested the connection may have been aborted.
    this.#idle = clock.after(IDLE_CONNECTION_MS, () => this.#retire());
    this.#driver.start();
  }

  /** Whether the connection has carried a tunnel. */
  get carried(): boolean {
    return this.#carried;
  }

  /** Whether the server has sent its SETTINGS, and takes another tunnel. */
  get usable(): boolean {
    const { hasPeerSettings, mayRequest } = this.#driver.connection;
    return !this.#retired && hasPeerSettings && mayRequest;
  }

  /** Whether data was received from the server recently, so that it is assumed to respond. */
  get isHeard(): boolean {
    return this.#tunnels.watch.silence < REUSE_SILENCE_MS;
  }

  /** Probes the server; without a response the connection is not used for new tunnels. */
  async probe(): Promise<void> {
    if (!(await this.#tunnels.watch.responds(REUSE_PROBE_MS))) this.#retire();
  }

  /** Opens a tunnel; only while the connection is usable. */
  call(use: DatagramUse | undefined): OpenedCall {
    const stream = this.#open();
    this.#idle.cancel();
    this.#carried = true;
    const { promise: refused, resolve } = Promise.withResolvers<boolean>();
    const { link, wire } = this.#tunnels.add(stream, (wasRefused) => {
      // The server may refuse the next call as well.
      if (wasRefused) this.#retire();
      resolve(wasRefused);
    });
    this.#watch.onSent();
    if (!use) return { link, wire, refused, below: this.#below };
    this.#datagrams.add(link);
    void link.closed.then(() => this.#datagrams.delete(link));
    return { link, wire, refused, below: this.#below, onWritten: this.#watch.onSent };
  }

  /**
   * Closes the connection: at once if tunnels are in use, otherwise once the remaining data of released tunnels is
   * sent.
   */
  close(): void {
    if (this.#tunnels.count > 0) this.destroy();
    else this.#retire();
  }

  destroy(): void {
    this.#driver.destroy();
  }

  #open(): Http2Stream {
    const stream = this.#driver.connection.request(this.#request);
    if (stream) return stream;
    const where = shownEndpoint(this.#server);
    throw new DialError('upstream', `${where}: HTTP/2: the connection takes no more tunnels`);
  }

  /**
   * Called when the server does not respond. Streams wait, since it may recover; datagrams move to a new connection.
   */
  #onSilent(): void {
    this.#retire();
    const cause = new ProtocolError('HTTP/2: the server does not respond');
    void endInTurns([...this.#datagrams], (link) => link.destroy(cause));
  }

  /** Accepts no more tunnels, and closes the connection with its last one. */
  #retire(): void {
    this.#retired = true;
    if (this.#tunnels.count === 0) this.#driver.close();
  }

  #rest(): void {
    if (this.#driver.isClosed) return;
    if (this.#retired) this.#driver.close();
    else this.#idle = this.#clock.after(IDLE_CONNECTION_MS, () => this.#retire());
  }
}

/** Returns the header list of calls: one array, so that a connection encodes it once. */
const requestOf = (
  { authority, serviceName }: GrpcSpec,
  isSecure: boolean,
): readonly HttpField[] => [
  { name: ':method', value: 'POST' },
  { name: ':scheme', value: isSecure ? 'https' : 'http' },
  { name: ':authority', value: authority },
  { name: ':path', value: tunnelPath(serviceName, 'Tun') },
  { name: 'content-type', value: CONTENT_TYPE },
  { name: 'te', value: 'trailers' },
];

/** Waits for `promise`, or until the signal aborts: then throws the DialError of a failed dial of `server`. */
const unless = <T>(signal: AbortSignal, server: Endpoint, promise: Promise<T>): Promise<T> =>
  unlessAborted(promise, signal, () => abortedDial(signal, server));
