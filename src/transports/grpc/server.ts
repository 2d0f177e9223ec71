import {
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../net/clock.ts';
import type { ByteLink, WireCounter } from '../../net/link.ts';
import type { InboundCarrierSpec } from '../../spec.ts';
import { FIRST_TUNNEL_MS, IDLE_CONNECTION_MS } from '../limits.ts';
import {
  CONNECTION_WINDOW,
  CONTENT_TYPE,
  SESSION_OPTIONS,
  SETTINGS,
  STREAM_WINDOW,
  tunnelPath,
  tunnelLimit,
} from './settings.ts';
import { Tunnels } from './tunnels.ts';

type GrpcSpec = Extract<InboundCarrierSpec, { kind: 'grpc' }>;

/** A tunnel that a client opened, with its share of the connection's bytes. */
export interface Tunnel {
  readonly link: ByteLink;
  readonly wire: WireCounter;
}

/** gRPC status codes that the server of tunnels sends. */
const Status = { ok: 0, unimplemented: 12 } as const;

/** Accepts tunnels on HTTP/2 connections. Other requests get the responses of a gRPC server. */
export class GrpcServer {
  #paths: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #sessions = new Set<ServerHttp2Session>();
  #closed = false;

  constructor(spec: GrpcSpec, clock: Clock) {
    this.#paths = pathsOf(spec);
    this.#clock = clock;
  }

  /** Changes the settings for new tunnels, those on open connections included. */
  update(spec: GrpcSpec): void {
    this.#paths = pathsOf(spec);
  }

  /** Serves a connected socket, over TLS or not. */
  serve(socket: Socket, raw: Socket, onTunnel: (tunnel: Tunnel) => void): void {
    const session = performServerHandshake(socket, {
      ...SESSION_OPTIONS,
      settings: { ...SETTINGS, maxConcurrentStreams: tunnelLimit(STREAM_WINDOW) },
      // Clients end tunnels with resets, and may have many.
      streamResetBurst: 10_000,
      streamResetRate: 1000,
    });
    this.#sessions.add(session);
    let timer: Timer | undefined;
    const waitFor = (milliseconds: number): void => {
      timer?.cancel();
      timer = this.#clock.after(milliseconds, () => session.destroy());
    };
    const tunnels = new Tunnels(session, raw, {
      clock: this.#clock,
      limitsTunnels: true,
      onEmpty: () => {
        if (!session.destroyed) waitFor(IDLE_CONNECTION_MS);
      },
    });
    waitFor(FIRST_TUNNEL_MS);
    session.on('error', () => undefined);
    session.on('close', () => {
      timer?.cancel();
      this.#sessions.delete(session);
      raw.destroy();
    });
    session.on('stream', (stream, headers) => {
      // The link of a tunnel handles errors; a rejected stream has no link.
      stream.on('error', () => undefined);
      if (!this.#accept(stream, headers)) return;
      timer?.cancel();
      onTunnel(tunnels.add(stream));
    });
    session.setLocalWindowSize(CONNECTION_WINDOW);
    // HTTP/2 does not use half-closed connections, but the socket allows them.
    socket.on('end', () => session.destroy());
    // Accepted sockets are paused; the session has its handle now.
    socket.resume();
    if (this.#closed) session.close();
  }

  /**
   * Accepts no new tunnels: sends GOAWAY, after which clients connect anew. Open tunnels continue.
   * Requests that the client sends before it has received the GOAWAY are refused, which it may
   * repeat on another connection (RFC 9113 section 8.7), so this is for an address that is closed.
   */
  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.close();
  }

  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    if (headers[':method'] !== 'POST' || !isGrpc(headers['content-type'])) {
      stream.respond({ ':status': headers[':method'] === 'POST' ? 415 : 405 }, { endStream: true });
      return false;
    }
    if (!this.#paths.has(headers[':path'] ?? '')) {
      stream.respond(
        { ':status': 200, 'content-type': CONTENT_TYPE, 'grpc-status': Status.unimplemented },
        { endStream: true },
      );
      return false;
    }
    stream.respond({ ':status': 200, 'content-type': CONTENT_TYPE }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': Status.ok }));
    return true;
  }
}

const pathsOf = ({ serviceName }: GrpcSpec): ReadonlySet<string> =>
  new Set([tunnelPath(serviceName, 'Tun'), tunnelPath(serviceName, 'TunMulti')]);

/** `application/grpc`, also with a subtype such as `+proto` or parameters. */
const isGrpc = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^application\/grpc(?:$|[+;])/i.test(contentType);
