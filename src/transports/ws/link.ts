import type { RandomSource } from '../../crypto/random-source.ts';
import type { Clock } from '../../net/time/clock.ts';
import { LINK_CLOSED, ProtocolError } from '../../net/errors.ts';
import { DecodedLink } from '../../net/links/decoded-link.ts';
import { OWNED, type ByteLink } from '../../net/links/link.ts';
import { strip } from '../../net/links/spent-chunk.ts';
import { CARRIER_LINGER_MS } from '../limits.ts';
import {
  applyMask,
  CloseCode,
  closePayload,
  WsFrameDecoder,
  WsFrameError,
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
export class WsLink extends DecodedLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #clock: Clock;
  readonly #random: RandomSource | undefined;
  /** The masking key of one frame; `undefined` at a server, which does not mask. */
  readonly #maskingKey: Uint8Array | undefined;
  readonly #decoder: WsFrameDecoder;
  #hasEnded = false;
  #pongWaits = false;

  /** @param random the source of a client's masking keys; `undefined` at a server. */
  constructor(lower: ByteLink, random: RandomSource | undefined, clock: Clock) {
    super(lower);
    this.#clock = clock;
    this.#random = random;
    this.#maskingKey = random && new Uint8Array(MASKING_KEY_BYTES);
    this.#decoder = new WsFrameDecoder(random === undefined);
    this.closed = lower.closed.then((cause) => {
      // After both Close frames it does not matter how the connection below ends.
      if (this.error) return this.closedCause;
      return this.#hasEnded && this.closing ? undefined : cause;
    });
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    if (chunk.length === 0) return undefined;
    return isOwned ? this.#sendOwned(chunk) : this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    if (this.#random) return this.lower.write(this.#frame(Opcode.binary, chunks), OWNED);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return this.lower.writeOutput([frameHeader(Opcode.binary, length), ...chunks], isOwned);
  }

  destroy(cause?: Error): void {
    if (this.error) return;
    // Without a cause the peer reads an end of stream, as when a socket is closed.
    if (!cause && !this.closing) this.closing = this.closeWrite();
    this.closing?.catch(() => undefined);
    this.endBoth(cause ?? LINK_CLOSED, cause);
  }

  protected override get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Masks the payload in its own memory, which saves a copy. */
  #sendOwned(chunk: Uint8Array): Promise<void> | undefined {
    const key = this.#freshKey();
    if (key) applyMask(chunk, key);
    return this.lower.writeOutput([frameHeader(Opcode.binary, chunk.length, key), chunk], OWNED);
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

  protected override decode(chunk: Uint8Array | undefined): void {
    if (!chunk) {
      this.failWith(new ProtocolError('WebSocket: the peer closed without a Close frame'));
      return;
    }
    try {
      const data: Uint8Array[] = [];
      let ping: Uint8Array | undefined;
      for (const event of this.#decoder.push(chunk)) {
        if (event.kind === 'data') data.push(event.data);
        else if (event.kind === 'ping') ping = event.data;
        else this.#hasEnded = true;
      }
      if (ping) this.#sendPong(ping);
      this.items.push(...strip(chunk, data));
    } catch (error) {
      if (!(error instanceof WsFrameError)) throw error;
      this.#writeClose(error.closeCode)?.catch(() => undefined);
      this.failWith(error);
    }
    if (this.#hasEnded && this.closing) this.#finish(this.closing);
  }

  /**
   * Only the last Ping of a read is answered (§5.5.3), and none while a Pong is queued, so that any
   * number of Pings costs no more.
   */
  #sendPong(data: Uint8Array): void {
    if (this.#pongWaits || !this.isWritable) return;
    const full = this.lower.write(this.#frame(Opcode.pong, [data]));
    if (!full) return;
    this.#pongWaits = true;
    const done = (): void => {
      this.#pongWaits = false;
    };
    void full.catch(() => undefined).then(done);
  }

  #writeClose(code: number): Promise<void> | undefined {
    return this.lower.write(this.#frame(Opcode.close, [closePayload(code)]));
  }

  /** Both sides have sent a Close frame: ends the connection below. */
  #finish(closing: Promise<void>): void {
    void this.#drain(closing).catch(() => undefined);
  }

  async #drain(closing: Promise<void>): Promise<void> {
    await closing;
    await this.lower.closeWrite();
    while (await this.lower.read()) {
      // Data after a Close frame (§5.5.1) is discarded.
    }
  }

  protected override sendEnd(): Promise<void> {
    const sent = Promise.resolve(this.#writeClose(CloseCode.normal));
    if (this.#hasEnded) this.#finish(sent);
    return sent;
  }

  protected override closeLower(cause: Error | undefined): void {
    // The connection is closed cleanly if the peer has failed (RFC 6455 §7.1.1, §7.1.7).
    if (cause && !this.hasFailed) this.lower.destroy(cause);
    else this.#linger();
  }

  /** Waits until a Close frame that is still queued (in TLS, say) is sent. */
  #linger(): void {
    const timer = this.#clock.after(CARRIER_LINGER_MS, () => this.lower.destroy());
    const done = (): void => {
      timer.cancel();
      this.lower.destroy();
    };
    void this.lower
      .closeWrite()
      .catch(() => undefined)
      .then(done);
  }
}
