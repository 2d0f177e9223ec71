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
import { LOOK_MS, StallWatch, type ClashSink } from './clash-sink.ts';

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
