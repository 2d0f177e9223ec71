import { Buffer } from 'node:buffer';
import type { LocalExchange } from '@weir/server/local-http';
import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  CloseCode,
  closePayload,
  frameHeader,
  Opcode,
  WsFrameDecoder,
} from '@weir/proxy/websocket';
import { acceptKey, isKey } from '@weir/proxy/transports/ws/handshake';

/** A client of a stream of JSON texts: a WebSocket, or an endless response. */
export interface ClashSink {
  /** Whether the client has accepted all data: a text that replaces an earlier one waits for that. */
  readonly isReady: boolean;
  /** Number of bytes that wait for the client. */
  readonly backlog: number;
  /** Aborted when the client has disconnected or was disconnected. */
  readonly signal: AbortSignal;
  /** Sends a text. @param text in pieces, with a newline at its end */
  send(text: readonly Uint8Array[]): void;
  /** Ends the stream; a client may connect again. */
  end(): void;
}

/** A value as JSON text with a newline, in one piece. */
export const jsonLine = (value: unknown): readonly Uint8Array[] => [
  Buffer.from(`${JSON.stringify(value)}\n`),
];

/** Milliseconds between checks of a client: one that has accepted no data in between is disconnected. */
export const LOOK_MS = 30_000;

/** Detects whether a client has stopped accepting data. */
export class StallWatch {
  #taken = -1;

  /** @returns whether data is waiting, and none was accepted since the last call */
  isStalled(backlog: number, written: number): boolean {
    const taken = written - backlog;
    const isStalled = backlog > 0 && taken === this.#taken;
    this.#taken = taken;
    return isStalled;
  }
}

/** An endless response with a line for each text, as mihomo sends it to clients without WebSockets. */
export class ResponseSink implements ClashSink {
  readonly signal: AbortSignal;
  readonly #exchange: LocalExchange;
  readonly #watch = new StallWatch();
  #written = 0;

  constructor(exchange: LocalExchange) {
    const { response, request, signal } = exchange;
    this.#exchange = exchange;
    this.signal = signal;
    // A log may have no lines for a long time.
    request.socket.setTimeout(0);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    response.flushHeaders();
    const timer = setInterval(() => this.#look(), LOOK_MS);
    timer.unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  get isReady(): boolean {
    return !this.signal.aborted && this.backlog === 0;
  }

  get backlog(): number {
    return this.#exchange.response.writableLength;
  }

  send(text: readonly Uint8Array[]): void {
    if (this.signal.aborted) return;
    for (const piece of text) {
      this.#written += piece.length;
      this.#exchange.response.write(piece);
    }
  }

  end(): void {
    this.#exchange.response.end();
  }

  #look(): void {
    if (this.#watch.isStalled(this.backlog, this.#written)) this.#exchange.response.destroy();
  }
}

/** Status code of the Close frame (RFC 6455 §7.4.1): the server is going away. */
const GOING_AWAY = 1001;
/** Milliseconds for the peer to close the connection after a Close frame. */
const CLOSE_MS = 2_000;
/** Backlog in bytes above which pings are not answered. */
const MAX_PONG_BACKLOG = 4096;

/** The response to an upgrade request (RFC 6455 §4.2.2); `undefined` for an invalid one. */
export function upgradeResponse(method: string, headers: IncomingHttpHeaders): string | undefined {
  const key = headers['sec-websocket-key'];
  const isUpgrade =
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    isKey(key);
  if (!isUpgrade) return undefined;
  return (
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${acceptKey(key)}\r\n\r\n`
  );
}

/** A WebSocket that sends texts. Data from its client is read and discarded. */
export class WebSocketSink implements ClashSink {
  readonly #socket: Duplex;
  readonly #decoder = new WsFrameDecoder(true);
  readonly #gone = new AbortController();
  readonly #watch = new StallWatch();
  #written = 0;
  #hasSentClose = false;

  /** @param head bytes that arrived with the upgrade */
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    const timer = setInterval(() => this.#look(), LOOK_MS);
    timer.unref();
    socket
      .on('data', (chunk: Buffer) => this.#receive(chunk))
      .on('error', () => undefined)
      .once('end', () => socket.end())
      .once('close', () => {
        clearInterval(timer);
        this.#gone.abort();
      });
    if (head.length > 0) this.#receive(head);
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get isReady(): boolean {
    return this.#isOpen && this.backlog === 0;
  }

  get backlog(): number {
    return this.#socket.writableLength;
  }

  send(text: readonly Uint8Array[]): void {
    this.#write(Opcode.text, text);
  }

  end(): void {
    this.#close(GOING_AWAY);
  }

  get #isOpen(): boolean {
    return !this.#hasSentClose && this.#socket.writable;
  }

  #write(opcode: number, payload: readonly Uint8Array[]): void {
    if (!this.#isOpen) return;
    const length = payload.reduce((sum, piece) => sum + piece.length, 0);
    // Not joined: all clients share the pieces of a large snapshot.
    this.#socket.cork();
    for (const piece of [frameHeader(opcode, length), ...payload]) {
      this.#written += piece.length;
      this.#socket.write(piece);
    }
    this.#socket.uncork();
  }

  #receive(chunk: Buffer): void {
    let ping: Uint8Array | undefined;
    for (const event of this.#decoder.push(chunk)) {
      if (event.kind === 'ping') ping = event.data;
      else if (event.kind !== 'data') {
        this.#close(event.kind === 'close' ? CloseCode.normal : event.error.closeCode);
        return;
      }
    }
    // Only the last of several pings needs a reply (§5.5.3), and none from a client that does not read.
    if (ping && this.backlog < MAX_PONG_BACKLOG) this.#write(Opcode.pong, [ping]);
  }

  #close(code: number): void {
    if (this.#hasSentClose) return;
    this.#write(Opcode.close, [closePayload(code)]);
    this.#hasSentClose = true;
    this.#gone.abort();
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_MS);
    timer.unref();
    this.#socket.once('close', () => clearTimeout(timer));
  }

  /** Disconnects a client that accepts no data, and detects one that has disappeared. */
  #look(): void {
    if (this.#watch.isStalled(this.backlog, this.#written)) this.#socket.destroy();
    else if (this.backlog === 0) this.#write(Opcode.ping, []);
  }
}
