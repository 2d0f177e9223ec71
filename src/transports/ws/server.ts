import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../net/clock.ts';
import type { ByteLink } from '../../net/link.ts';
import { SocketLink } from '../../net/node/socket-link.ts';
import type { InboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import {
  acceptKey,
  decodeEarlyData,
  EARLY_DATA_LIMIT,
  hostWithoutPort,
  isKey,
  pathMatches,
} from './handshake.ts';
import { WsLink } from './link.ts';

type WsSpec = Extract<InboundCarrierSpec, { kind: 'ws' }>;

/** A request with 16 KB of early data in base64 and the headers of a browser and a CDN. */
const HEADER_BYTES = 40 * 1024;
const HEADER_COUNT = 100;

/** An upgraded connection: the WebSocket, and the link below it, which counts its bytes. */
export interface Upgraded {
  readonly link: ByteLink;
  readonly below: SocketLink;
}

interface Waiting {
  readonly raw: Socket;
  readonly timer: Timer;
  readonly onUpgraded: (upgraded: Upgraded) => void;
}

/**
 * Upgrades HTTP/1.1 connections to WebSockets. To other requests it responds like a web server
 * without pages.
 */
export class WsServer {
  readonly #spec: WsSpec;
  readonly #clock: Clock;
  readonly #http: Server;
  readonly #waiting = new Map<Socket, Waiting>();

  constructor(spec: WsSpec, clock: Clock) {
    this.#spec = spec;
    this.#clock = clock;
    this.#http = createServer({
      maxHeaderSize: HEADER_BYTES,
      // Where no host is configured any host matches, and so does a request without one.
      requireHostHeader: false,
    });
    this.#http.maxHeadersCount = HEADER_COUNT;
    this.#http.on('request', (_, response) => {
      response.writeHead(404, { connection: 'close', 'content-length': 0 }).end();
    });
    this.#http.on('upgrade', (request, socket, head) => {
      // The server emits the sockets that it was given; the type allows any stream.
      this.#upgrade(request, socket as Socket, head);
    });
    this.#http.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      refuse(socket as Socket, error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400);
    });
  }

  /** Serves a connected socket, over TLS or not, which is destroyed unless it is upgraded in time. */
  serve(socket: Socket, raw: Socket, onUpgraded: (upgraded: Upgraded) => void): void {
    const timer = this.#clock.after(UPGRADE_MS, () => socket.destroy());
    this.#waiting.set(socket, { raw, timer, onUpgraded });
    socket.once('close', () => this.#take(socket));
    this.#http.emit('connection', socket);
    // Accepted sockets are paused.
    socket.resume();
  }

  #take(socket: Socket): Waiting | undefined {
    const waiting = this.#waiting.get(socket);
    waiting?.timer.cancel();
    this.#waiting.delete(socket);
    return waiting;
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const status = this.#statusOf(request);
    const protocol = request.headers['sec-websocket-protocol'];
    const early = decodeEarlyData(protocol);
    if (status !== 101) {
      refuse(socket, status);
      return;
    }
    if (early && early.length > EARLY_DATA_LIMIT) {
      refuse(socket, 431);
      return;
    }
    const waiting = this.#take(socket);
    if (!waiting || socket.destroyed) return;
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptKey(request.headers['sec-websocket-key'] ?? '')}`,
    ];
    // Browsers require that one of the protocols that they offered is chosen.
    if (early && early.length > 0) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const below = new SocketLink(socket, waiting.raw);
    below.unread(head);
    const link = new WsLink(below, undefined, this.#clock);
    if (early) link.unread(early);
    waiting.onUpgraded({ link, below });
  }

  #statusOf({ method, url = '', headers }: IncomingMessage): number {
    const { path, host } = this.#spec;
    if (!pathMatches(url, path)) return 404;
    if (host !== undefined && hostWithoutPort(headers.host ?? '') !== host) return 404;
    if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return 404;
    const versionKnown = headers['sec-websocket-version'] === '13';
    return versionKnown && isKey(headers['sec-websocket-key']) ? 101 : 400;
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  431: 'Request Header Fields Too Large',
};

function refuse(socket: Socket, status: number): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const reason = REASONS[status] ?? '';
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
    socket.destroySoon(),
  );
}
