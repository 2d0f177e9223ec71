import type { Approach, DialerOptions } from '../dialer.ts';
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { formatEndpoint, type Endpoint } from '../../net/address.ts';
import type { Clock, Timer } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import { abortedDial, DialError, toDialError } from '../../net/errors.ts';
import { unlessAborted } from '../../net/unless-aborted.ts';
import { messageOf } from '../../errors.ts';
import type { OutboundCarrierSpec } from '../../spec.ts';
import {
  CONNECTION_LIMIT,
  IDLE_CONNECTION_MS,
  REUSE_PROBE_MS,
  REUSE_SILENCE_MS,
  UPGRADE_MS,
} from '../limits.ts';
import { RepeatableLink, type Call } from './repeatable-link.ts';
import type { Tunnel } from './server.ts';
import {
  CONNECTION_WINDOW,
  CONTENT_TYPE,
  SESSION_OPTIONS,
  SETTINGS,
  tunnelPath,
} from './settings.ts';
import { Tunnels } from './tunnels.ts';

/** New connections for one dial: the server may be closing the first. */
const ATTEMPTS = 2;

type GrpcSpec = Extract<OutboundCarrierSpec, { kind: 'grpc' }>;

/** A socket for HTTP/2, over TLS or not, and the kernel socket below it. */
export interface GrpcSocket {
  readonly socket: Socket;
  readonly raw: Socket;
}

/** A tunnel with the connection that carries it. */
export interface OpenedTunnel extends Tunnel {
  readonly raw: Socket;
}

interface OpenedCall extends Call {
  readonly raw: Socket;
}

/**
 * The client side of gRPC tunnels to one server. Tunnels of one group share a connection. One that
 * the server ends, that is full or that does not respond keeps its tunnels, and the next tunnel uses
 * a new one.
 */
export class GrpcClient {
  readonly #spec: GrpcSpec;
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #open: (signal: AbortSignal, approach?: Approach) => Promise<GrpcSocket>;
  readonly #connections = new Set<TunnelConnection>();
  /** Connections that are being made, by group. */
  readonly #connecting = new Map<string, Promise<TunnelConnection>>();
  readonly #closing = new AbortController();

  /** @param open connects to the server. */
  constructor(
    spec: GrpcSpec,
    server: Endpoint,
    clock: Clock,
    open: (signal: AbortSignal, approach?: Approach) => Promise<GrpcSocket>,
  ) {
    this.#spec = spec;
    this.#server = server;
    this.#clock = clock;
    this.#open = open;
  }

  /**
   * Opens a tunnel, which does not wait for the server's response; a call that the server refuses
   * unprocessed is repeated.
   * @throws {DialError} when the server is not reached, or accepts no tunnel on a new connection.
   */
  async tunnel(options: DialerOptions): Promise<OpenedTunnel> {
    const call = await this.#call(options);
    const again = (signal: AbortSignal): Promise<Call> => this.#call({ ...options, signal });
    const link = new RepeatableLink(call, again, this.#clock);
    return { link, wire: link, raw: call.raw };
  }

  async #call({ signal, approach, group = '' }: DialerOptions): Promise<OpenedCall> {
    let barren = 0;
    for (;;) {
      const shared = [...this.#connections].find((each) => each.group === group && each.usable);
      if (shared) {
        const alive = await unless(signal, this.#server, shared.responds());
        if (alive && shared.usable) return shared.call();
        continue;
      }
      const fresh = await this.#connection(signal, group, approach);
      if (signal.aborted) throw abortedDial(signal, this.#server);
      if (fresh.usable) return fresh.call();
      // Other dials have used it up; each round at least one of them gets a tunnel.
      if (fresh.carried) continue;
      fresh.destroy();
      if (++barren === ATTEMPTS) throw this.#failure('the server accepts no tunnels');
    }
  }

  /** Ends all connections. */
  close(): void {
    this.#closing.abort(new DialError('aborted', 'the outbound was closed'));
    for (const connection of this.#connections) connection.destroy();
  }

  /** The connection that is being made for a group, shared by all dials that wait for one. */
  #connection(signal: AbortSignal, group: string, approach?: Approach): Promise<TunnelConnection> {
    let connecting = this.#connecting.get(group);
    if (!connecting) {
      if (this.#connections.size + this.#connecting.size >= CONNECTION_LIMIT) {
        throw this.#failure(`none of ${CONNECTION_LIMIT} connections accepts another tunnel`);
      }
      connecting = this.#connect(group, approach).finally(() => this.#connecting.delete(group));
      this.#connecting.set(group, connecting);
    }
    return unless(signal, this.#server, connecting);
  }

  #failure(why: string): DialError {
    return new DialError('upstream', `${formatEndpoint(this.#server)}: HTTP/2: ${why}`);
  }

  async #connect(group: string, approach?: Approach): Promise<TunnelConnection> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the connection', this.#closing.signal);
    const { socket, raw } = await this.#open(deadline.signal, approach);
    const connection = new TunnelConnection(
      this.#spec,
      group,
      { socket, raw },
      this.#server,
      this.#clock,
    );
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    try {
      await unless(deadline.signal, this.#server, connection.ready);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    return connection;
  }
}

/** One HTTP/2 connection of a client. */
class TunnelConnection {
  /** The group of the tunnels that it carries. */
  readonly group: string;
  /** Resolves with the server's SETTINGS. */
  readonly ready: Promise<void>;
  /** Resolves when the connection is closed. */
  readonly ended: Promise<void>;
  readonly #spec: GrpcSpec;
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #raw: Socket;
  readonly #secure: boolean;
  readonly #session: ClientHttp2Session;
  readonly #tunnels: Tunnels;
  #carried = false;
  #retired = false;
  #failure: Error | undefined;
  #idle: Timer;

  constructor(
    spec: GrpcSpec,
    group: string,
    { socket, raw }: GrpcSocket,
    server: Endpoint,
    clock: Clock,
  ) {
    this.group = group;
    this.#spec = spec;
    this.#server = server;
    this.#clock = clock;
    this.#raw = raw;
    this.#secure = socket !== raw;
    const session = connect(`http://${formatEndpoint(server)}`, {
      ...SESSION_OPTIONS,
      createConnection: () => socket,
      settings: SETTINGS,
    });
    this.#session = session;
    this.#tunnels = new Tunnels(session, raw, {
      clock,
      limitsTunnels: false,
      onEmpty: () => this.#rest(),
    });
    // The dial that it was made for may have been aborted.
    this.#idle = clock.after(IDLE_CONNECTION_MS, () => this.#retire());
    const ready = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.ended = ended.promise;
    // A rejection that no dial waits for must not be unhandled.
    ready.promise.catch(() => undefined);
    // HTTP/2 does not use half-closed connections, but the socket allows them.
    socket.on('end', () => session.destroy());
    session.on('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW));
    session.once('remoteSettings', () => ready.resolve());
    session.on('goaway', () => this.#retire());
    session.on('error', (error) => {
      this.#failure ??= error;
    });
    session.on('close', () => {
      this.#retired = true;
      this.#idle.cancel();
      const reason = this.#failure ? messageOf(this.#failure) : 'the server closed the connection';
      const message = `${formatEndpoint(server)}: HTTP/2: ${reason}`;
      ready.reject(new DialError('upstream', message, { cause: this.#failure }));
      raw.destroy();
      ended.resolve();
    });
  }

  /** Whether it has had a tunnel. */
  get carried(): boolean {
    return this.#carried;
  }

  get usable(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session;
    const limit = remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
    return !this.#retired && !closed && !destroyed && this.#tunnels.count < limit;
  }

  /** Whether the server responds: known after recent bytes, probed otherwise. */
  async responds(): Promise<boolean> {
    const { watch } = this.#tunnels;
    if (watch.silence < REUSE_SILENCE_MS) return true;
    const alive = await watch.responds(REUSE_PROBE_MS);
    if (!alive) this.#retire();
    return alive;
  }

  call(): OpenedCall {
    this.#idle.cancel();
    const stream = this.#request();
    const { link, wire } = this.#tunnels.add(stream);
    this.#carried = true;
    const { promise: refused, resolve } = Promise.withResolvers<boolean>();
    stream.on('close', () => {
      const wasRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
      // It may refuse the next as well. A response has settled it before.
      if (wasRefused) this.#retire();
      resolve(wasRefused);
    });
    stream.on('response', (headers) => {
      resolve(false);
      const { ':status': status } = headers;
      if (status !== 200) link.refuse(`the server responded with HTTP status ${status}`);
      else link.checkStatus(headers);
    });
    stream.on('trailers', (trailers) => link.checkStatus(trailers));
    return { link, wire, refused, raw: this.#raw };
  }

  destroy(): void {
    this.#session.destroy();
  }

  #request(): ClientHttp2Stream {
    const { authority, serviceName } = this.#spec;
    try {
      return this.#session.request(
        {
          ':method': 'POST',
          ':scheme': this.#secure ? 'https' : 'http',
          ':authority': authority,
          ':path': tunnelPath(serviceName, 'Tun'),
          'content-type': CONTENT_TYPE,
          te: 'trailers',
        },
        { endStream: false },
      );
    } catch (error) {
      // A header that HTTP does not allow, or a connection that has just been lost.
      throw toDialError(error, this.#server);
    }
  }

  /** Accepts no more tunnels, and closes with the last one. */
  #retire(): void {
    this.#retired = true;
    if (this.#tunnels.count === 0) this.#session.close();
  }

  #rest(): void {
    if (this.#session.destroyed) return;
    if (this.#retired) this.#session.close();
    else this.#idle = this.#clock.after(IDLE_CONNECTION_MS, () => this.#retire());
  }
}

/** Waits until the signal aborts, which is then a failed dial of `server`. */
const unless = <T>(signal: AbortSignal, server: Endpoint, promise: Promise<T>): Promise<T> =>
  unlessAborted(promise, signal, () => abortedDial(signal, server));
