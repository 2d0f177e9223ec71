import { type Clock, type Timer, TurnShare } from '@weir/io/time';
import type { ByteLink, Carrier, WireCounter } from '@weir/io/links';
import { Http2Driver, Http2ErrorCode, type Http2Stream } from '@weir/http/http2';
import type { HttpField } from '@weir/http/fields';
import type { InboundCarrierSpec } from '../../spec.ts';
import {
  FIRST_TUNNEL_MS,
  IDLE_CONNECTION_MS,
  UNPROVEN_READS_A_TURN,
  UNPROVEN_TUNNELS,
} from '../limits.ts';
import type { UnauthenticatedClients } from '../unauthenticated-clients.ts';
import { CONNECTION_WINDOW, CONTENT_TYPE, SETTINGS, tunnelPaths } from './settings.ts';
import { refusalOf } from './refusals.ts';
import { Tunnels } from './link.ts';

type GrpcSpec = Extract<InboundCarrierSpec, { kind: 'grpc' }>;

/** A tunnel that a client opened, with its share of the connection's bytes. */
export interface GrpcTunnel {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  /** Called when the client of a server's tunnel has authenticated; see `Carrier`. */
  readonly onAuthenticated?: (() => void) | undefined;
  readonly onOver?: (() => void) | undefined;
}

// Constant arrays, so that a connection encodes each of them once.

const CONTENT: HttpField = { name: 'content-type', value: CONTENT_TYPE };
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }, CONTENT];
const TRAILERS: readonly HttpField[] = [{ name: 'grpc-status', value: '0' }];
/** Accepts tunnels on HTTP/2 connections. Other requests are answered as by a gRPC server. */
export class GrpcServer {
  #paths: ReadonlySet<string>;
  /** The last accepted header list: most requests of a connection share one. */
  #accepted: readonly HttpField[] | undefined;
  readonly #clock: Clock;
  readonly #unauthenticated: UnauthenticatedClients;
  readonly #drivers = new Set<Http2Driver>();
  /** Those of connections that have not made a request. */
  readonly #fresh = new Set<Http2Driver>();
  readonly #unproven = new TurnShare(UNPROVEN_READS_A_TURN);
  #closed = false;

  /** @param unauthenticated counts the tunnels whose clients have not authenticated. */
  constructor(spec: GrpcSpec, clock: Clock, unauthenticated: UnauthenticatedClients) {
    this.#paths = pathsOf(spec);
    this.#clock = clock;
    this.#unauthenticated = unauthenticated;
  }

  /** Changes the settings of new tunnels, also on open connections. */
  update(spec: GrpcSpec): void {
    this.#paths = pathsOf(spec);
    this.#accepted = undefined;
  }

  /**
   * Serves a connection, after its TLS handshake, if any. Until one of its tunnels has authenticated the connection may
   * have only UNPROVEN_TUNNELS tunnels, and it is closed after FIRST_TUNNEL_MS.
   */
  serve(below: Carrier, onTunnel: (tunnel: GrpcTunnel) => void): void {
    let isProven = false;
    let timer: Timer | undefined;
    const waitFor = (milliseconds: number): void => {
      timer?.cancel();
      timer = this.#clock.after(milliseconds, () => driver.destroy());
    };
    const driver = new Http2Driver(
      below.link,
      this.#clock,
      {
        role: 'server',
        settings: { ...SETTINGS, maxConcurrentStreams: UNPROVEN_TUNNELS },
        connectionWindow: CONNECTION_WINDOW,
        unproven: this.#unproven,
      },
      {
        onRequest: (stream, fields) => {
          if (this.#fresh.delete(driver) && this.#closed) driver.close();
          const refusal = this.#refusalOf(fields);
          if (refusal) {
            refuse(stream, refusal);
            return;
          }
          if (isProven) timer?.cancel();
          stream.respond(OK, false);
          const { link, wire } = tunnels.add(stream);
          const { leave } = this.#unauthenticated.enter(below.remote?.host, {
            evict: (cause) => link.destroy(cause),
          });
          const onAuthenticated = (): void => {
            leave();
            stream.serve();
            prove();
          };
          onTunnel({ link, wire, onAuthenticated, onOver: leave });
        },
        onEnd: () => {
          timer?.cancel();
          tunnels.watch.stop();
          this.#drivers.delete(driver);
          this.#fresh.delete(driver);
          below.onOver?.();
        },
      },
    );
    const tunnels = new Tunnels(driver, below.wire, {
      clock: this.#clock,
      trailers: TRAILERS,
      onEmpty: () => {
        if (isProven && !driver.isClosed) waitFor(IDLE_CONNECTION_MS);
      },
    });
    const prove = (): void => {
      if (isProven || driver.isClosed) return;
      isProven = true;
      timer?.cancel();
      below.onAuthenticated?.();
      tunnels.prove();
      if (tunnels.count === 0) waitFor(IDLE_CONNECTION_MS);
    };
    this.#drivers.add(driver);
    this.#fresh.add(driver);
    waitFor(FIRST_TUNNEL_MS);
    driver.start();
  }

  /**
   * Stops accepting tunnels: sends GOAWAY, after which clients use new connections, so call this only if the address is
   * closed. Open tunnels continue, and requests on their way are accepted. A connection that has not made a request may
   * make one, since its client may find no other.
   */
  close(): void {
    this.#closed = true;
    for (const driver of this.#drivers) if (!this.#fresh.has(driver)) driver.close();
  }

  /** Undoes `close` for new connections. */
  open(): void {
    this.#closed = false;
  }

  /** Returns the response that refuses a request; `undefined` for one that opens a tunnel. */
  #refusalOf(fields: readonly HttpField[]): readonly HttpField[] | undefined {
    if (fields === this.#accepted) return undefined;
    const refusal = refusalOf(fields, this.#paths);
    if (!refusal) this.#accepted = fields;
    return refusal;
  }
}

function refuse(stream: Http2Stream, response: readonly HttpField[]): void {
  stream.respond(response, true);
  // The rest of the request is not needed (RFC 9113 §8.1).
  stream.reset(Http2ErrorCode.NO_ERROR);
}

const pathsOf = ({ serviceName }: GrpcSpec): ReadonlySet<string> =>
  new Set([...tunnelPaths(serviceName, 'Tun'), ...tunnelPaths(serviceName, 'TunMulti')]);
