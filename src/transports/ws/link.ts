import type { RandomSource } from '../../crypto/random-source.ts';
import type { Clock } from '../../net/time/clock.ts';
import { LinkClosedError, ProtocolError } from '../../net/errors.ts';
import { OWNED, type ByteLink } from '../../net/links/link.ts';
import { strip } from '../../net/links/spent-chunk.ts';
import { LINGER_MS } from '../limits.ts';
import {
  applyMask,
  CloseCode,
  closePayload,
  FrameDecoder,
  frameHeader,
  MASKING_KEY_BYTES,
  Opcode,
  wholeFrame,
} from './frames.ts';

/**
 * A WebSocket (RFC 6455) as a ByteLink over the link of its upgrade. Messages carry a stream of
 * bytes: their boundaries and types (text or binary) mean nothing.
 *
 * A Close frame is the half-close: RFC 6455 §5.5.1 allows the receiver to finish sending before it
 * replies with its own. Weir does so. v2ray, Xray and most libraries reply at once, so with them a
 * half-close ends the other direction as well. An end of stream without a Close frame is a failure.
 */
export class WsLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #lower: ByteLink;
  readonly #clock: Clock;
  readonly #random: RandomSource | undefined;
  /** The masking key of one frame; `undefined` at a server, which does not mask. */
  readonly #maskingKey: Uint8Array | undefined;
  readonly #decoder: FrameDecoder;
  readonly #items: Uint8Array[] = [];
  #reading = false;
  #ended = false;
  #closing: Promise<void> | undefined;
  /** The error of later reads and writes, and the cause of the end, if any. */
  #error: Error | undefined;
  #cause: Error | undefined;
  #pongWaits = false;

  /** @param random the source of a client's masking keys; `undefined` at a server. */
  constructor(lower: ByteLink, random: RandomSource | undefined, clock: Clock) {
    this.#lower = lower;
    this.#clock = clock;
    this.#random = random;
    this.#maskingKey = random && new Uint8Array(MASKING_KEY_BYTES);
    this.#decoder = new FrameDecoder(random === undefined);
    this.closed = lower.closed.then((cause) => {
      // After both Close frames it does not matter how the connection below ends.
      if (this.#error) return this.#cause;
      return this.#ended && this.#closing ? undefined : cause;
    });
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#reading) throw new LinkClosedError('a read is already pending');
    this.#reading = true;
    try {
      while (this.#items.length === 0 && !this.#ended && !this.#error) await this.#fill(signal);
    } finally {
      this.#reading = false;
    }
    if (this.#error) throw this.#error;
    signal?.throwIfAborted();
    return this.#items.shift();
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#items.unshift(chunk);
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (!this.#writable) return Promise.reject(this.#closedError());
    if (chunk.length === 0) return undefined;
    return isOwned ? this.#sendOwned(chunk) : this.writeAll([chunk]);
  }

  writeAll(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    if (!this.#writable) return Promise.reject(this.#closedError());
    if (this.#random) return this.#lower.write(this.#frame(Opcode.binary, chunks), OWNED);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return this.#lower.writeAll([frameHeader(Opcode.binary, length), ...chunks], isOwned);
  }

  closeWrite(): Promise<void> {
    if (this.#closing) return this.#closing;
    if (this.#error) return Promise.reject(this.#error);
    this.#closing = Promise.resolve(this.#writeClose(CloseCode.normal));
    if (this.#ended) this.#finish();
    return this.#closing;
  }

  destroy(cause?: Error): void {
    if (this.#error) return;
    // Without a cause the peer reads an end of stream, as when a socket is closed.
    if (!cause && !this.#closing) this.#closing = this.closeWrite();
    this.#closing?.catch(() => undefined);
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  get #writable(): boolean {
    return !this.#closing && !this.#error;
  }

  /** Masks the payload in its own memory, which saves a copy. */
  #sendOwned(chunk: Uint8Array): Promise<void> | undefined {
    const key = this.#freshKey();
    if (key) applyMask(chunk, key);
    return this.#lower.writeAll([frameHeader(Opcode.binary, chunk.length, key), chunk], OWNED);
  }

  /** One frame with a copy of `payload`, masked with a fresh key at a client (§5.3). */
  #frame(opcode: number, payload: readonly Uint8Array[]): Buffer {
    return wholeFrame(opcode, payload, this.#freshKey());
  }

  #freshKey(): Uint8Array | undefined {
    const key = this.#maskingKey;
    if (key) this.#random?.fill(key);
    return key;
  }

  /** Reads one chunk from below. */
  async #fill(signal: AbortSignal | undefined): Promise<void> {
    const chunk = await this.#lower.read(signal);
    if (this.#error) return;
    if (!chunk) {
      this.#break(new ProtocolError('WebSocket: the peer closed without a Close frame'));
      return;
    }
    try {
      const data: Uint8Array[] = [];
      let ping: Uint8Array | undefined;
      for (const event of this.#decoder.push(chunk)) {
        if (event.kind === 'data') data.push(event.data);
        else if (event.kind === 'ping') ping = event.data;
        else this.#ended = true;
      }
      if (ping) this.#sendPong(ping);
      this.#items.push(...strip(chunk, data));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#writeClose(CloseCode.protocolError)?.catch(() => undefined);
      this.#break(error);
    }
    if (this.#ended && this.#closing) this.#finish();
  }

  /**
   * §5.5.3: the last Ping of a read is responded to, and none while a Pong waits to be sent, so that
   * their number is free.
   */
  #sendPong(data: Uint8Array): void {
    if (this.#pongWaits || !this.#writable) return;
    const full = this.#lower.write(this.#frame(Opcode.pong, [data]));
    if (!full) return;
    this.#pongWaits = true;
    const done = (): void => {
      this.#pongWaits = false;
    };
    void full.catch(() => undefined).then(done);
  }

  #writeClose(code: number): Promise<void> | undefined {
    return this.#lower.write(this.#frame(Opcode.close, [closePayload(code)]));
  }

  /** Both sides have sent a Close frame: ends the connection below. */
  #finish(): void {
    void this.#drain().catch(() => undefined);
  }

  async #drain(): Promise<void> {
    await this.#closing;
    await this.#lower.closeWrite();
    while (await this.#lower.read()) {
      // Data after a Close frame (§5.5.1) is discarded.
    }
  }

  #break(error: ProtocolError): void {
    this.#fail(error, error);
  }

  #fail(error: Error, cause: Error | undefined): void {
    this.#error = error;
    this.#cause = cause;
    this.#items.length = 0;
    if (cause) this.#lower.destroy(cause);
    else this.#linger();
  }

  /** Waits until a Close frame that is still queued (in TLS, say) is sent. */
  #linger(): void {
    const timer = this.#clock.after(LINGER_MS, () => this.#lower.destroy());
    const done = (): void => {
      timer.cancel();
      this.#lower.destroy();
    };
    void this.#lower
      .closeWrite()
      .catch(() => undefined)
      .then(done);
  }

  #closedError(): Error {
    return this.#error ?? new LinkClosedError();
  }
}
