import { ChurnMap } from '@weir/base/collections';
import type { RandomSource } from '@weir/base/random';
import { ReadInPieces, UnitCost } from '@weir/io/bounds';
import { DeadlineError, LINK_CLOSED, ProtocolError } from '@weir/io';
import { DecodedLink } from '@weir/io/layers';
import { type ByteLink, OWNED, strip } from '@weir/io/links';
import type { Clock, Timer } from '@weir/io/time';
import { IdleTimer, RateLimit } from '@weir/io/pace';
import {
  CARRIER_LINGER_MS,
  CLOSE_HOLD_MS,
  CLOSE_PAUSE_MS,
  CLOSE_SILENCE_MS,
  KEEP_ALIVE_LOOK_MS,
} from '../limits.ts';
import {
  applyMask,
  CloseCode,
  closeError,
  closePayload,
  frameHeader,
  MASKING_KEY_BYTES,
  Opcode,
  wholeFrame,
  WsFrameDecoder,
  WsFrameError,
} from './frames.ts';

/** A connection whose activity is checked periodically. */
interface Silent {
  /** Sends a Ping if the connection was silent for long enough. Must not throw. */
  look(): void;
}

/** Number of slots of the interval, so that thousands of silent connections do not send in the same turn. */
const SLOTS = 30;

/**
 * Checks each connection once every KEEP_ALIVE_LOOK_MS: reverse proxies close a WebSocket after a minute of silence
 * (nginx, `proxy_read_timeout`) or a little more. One timer serves all connections, and none runs without connections;
 * a chunk causes no call of the clock.
 */
class KeepAlive {
  static readonly #ofClocks = new WeakMap<Clock, KeepAlive>();
  readonly #clock: Clock;
  readonly #slots = Array.from({ length: SLOTS }, () => new ChurnMap<Silent, true>());
  #size = 0;
  #next = 0;
  #timer: Timer | undefined;

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the instance for all connections on a clock. */
  static of(clock: Clock): KeepAlive {
    let one = this.#ofClocks.get(clock);
    if (!one) this.#ofClocks.set(clock, (one = new KeepAlive(clock)));
    return one;
  }

  /** Adds a connection. The returned function removes it; idempotent. */
  add(connection: Silent): () => void {
    // The slot that was visited last, so that the first check follows after a whole interval.
    const slot = this.#slots[(this.#next + SLOTS - 1) % SLOTS];
    slot?.set(connection, true);
    this.#size++;
    this.#arm();
    return () => {
      if (!slot?.delete(connection) || --this.#size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  #arm(): void {
    this.#timer ??= this.#clock.after(KEEP_ALIVE_LOOK_MS / SLOTS, this.#visit);
  }

  readonly #visit = (): void => {
    this.#timer = undefined;
    const slot = this.#slots[this.#next];
    this.#next = (this.#next + 1) % SLOTS;
    this.#arm();
    for (const connection of slot ? [...slot.keys()] : []) {
      // A look may end others.
      if (slot?.has(connection)) connection.look();
    }
  };
}

/** Number of frames decoded at once; further frames of a read wait for their share of a turn. */
const FRAMES_A_PIECE = 256;

/** Limits of control and empty frames per second, and in a burst. Programs send a Ping every few seconds. */
const IDLE_FRAMES_RATE = 20;
const IDLE_FRAMES_BURST = 2_000;

const NO_BYTES = new Uint8Array();

export interface WsLinkOptions {
  readonly clock: Clock;
  /** The source of a client's masking keys; `undefined` on a server, which does not mask. */
  readonly random?: RandomSource;
  /** Whether the peer is Weir; other programs need a different closing handshake. */
  readonly isWeir?: boolean;
  /** The frame by which a server identifies itself as Weir, sent before any other; see `markReply`. */
  readonly weirFrame?: Buffer;
}

/**
 * A WebSocket (RFC 6455) as a ByteLink over the link of its upgrade. Messages carry a byte stream: their boundaries and
 * types (text or binary) have no meaning.
 *
 * Between two instances of Weir a Close frame is the half-close: RFC 6455 §5.5.1 allows the receiver to finish sending
 * before it replies with its own. Other programs reply at once and end both sides, or close the connection without a
 * Close frame. Towards them a client therefore sends its Close frame only when no more data is expected, and a
 * connection that ends between two frames is an end of stream. From Weir that is a failure. An end within a frame, or a
 * Close frame whose code reports an error, is always a failure.
 */
export class WsLink extends DecodedLink implements ByteLink, Silent {
  readonly closed: Promise<Error | undefined>;
  readonly #clock: Clock;
  readonly #random: RandomSource | undefined;
  /** The masking key of the current frame; `undefined` on a server, which does not mask. */
  readonly #maskingKey: Uint8Array | undefined;
  readonly #decoder: WsFrameDecoder;
  readonly #pieces = new ReadInPieces();
  readonly #idleFrames = new RateLimit(IDLE_FRAMES_RATE, IDLE_FRAMES_BURST);
  readonly #leave: () => void;
  #isWeir: boolean;
  #weirFrame: Buffer | undefined;
  /** The last Ping of a read that is not completely decoded. */
  #ping: Uint8Array | undefined;
  #hasEnded = false;
  #hasSentClose = false;
  /** Whether a Ping or Pong waits for the underlying link. */
  #controlWaits = false;
  /** Settled when the delayed Close frame may be sent; then the timer of the peer's response to the frame. */
  #held: PromiseWithResolvers<void> | undefined;
  #closeTimer: IdleTimer | undefined;
  /** Whether data was sent or received since the last check, and the number of checks without any. */
  #isActive = false;
  #silentLooks = 0;

  constructor(lower: ByteLink, { clock, random, isWeir = false, weirFrame }: WsLinkOptions) {
    super(lower);
    this.#clock = clock;
    this.#random = random;
    this.#maskingKey = random && new Uint8Array(MASKING_KEY_BYTES);
    this.#decoder = new WsFrameDecoder(random === undefined);
    this.#isWeir = isWeir;
    this.#weirFrame = weirFrame;
    this.#leave = KeepAlive.of(clock).add(this);
    this.closed = lower.closed.then((cause) => {
      this.#stopTimers();
      // After both Close frames it does not matter how the underlying connection ends.
      if (this.error) return this.closedCause;
      return this.#hasEnded && this.closing ? undefined : cause;
    });
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    if (chunk.length === 0) return undefined;
    if (!isOwned) return this.writeOutput([chunk]);
    this.#isActive = true;
    return this.#sendOwned(chunk);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    this.#isActive = true;
    if (this.#random) return this.lower.write(this.#frame(Opcode.binary, chunks), OWNED);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return this.lower.writeOutput([frameHeader(Opcode.binary, length), ...chunks], isOwned);
  }

  destroy(cause?: Error): void {
    if (this.error) return;
    // Without a cause the peer reads an end of stream, as when a socket is closed.
    if (!cause) {
      this.closing ??= this.#sendClose();
      this.#release();
    }
    this.closing?.catch(() => undefined);
    this.endBoth(cause ?? LINK_CLOSED, cause);
  }

  /** Sends a Ping, for reverse proxies, if nothing was sent or received for a while. */
  look(): void {
    if (this.#isActive || !this.isWritable || (this.#hasEnded && !this.#isWeir)) {
      this.#isActive = false;
      this.#silentLooks = 0;
      return;
    }
    // The client is first, so that only one of two instances of Weir sends Pings.
    if (++this.#silentLooks >= (this.#random ? 1 : 2)) this.#sendControl(Opcode.ping, NO_BYTES);
  }

  protected override get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends a chunk whose memory the link owns: masks it in place, which saves a copy. */
  #sendOwned(chunk: Uint8Array): Promise<void> | undefined {
    const key = this.#freshKey();
    if (key) applyMask(chunk, key);
    return this.lower.writeOutput([frameHeader(Opcode.binary, chunk.length, key), chunk], OWNED);
  }

  /** Returns one frame with a copy of `payload`, on a client masked with a fresh key (§5.3). */
  #frame(opcode: number, payload: readonly Uint8Array[]): Buffer {
    return wholeFrame(opcode, payload, this.#freshKey());
  }

  #freshKey(): Uint8Array | undefined {
    const key = this.#maskingKey;
    if (key) this.#random?.fill(key);
    return key;
  }

  protected override nextChunk(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    return this.#pieces.isWaiting ? this.#pieces.next(this.lower, signal) : this.lower.read(signal);
  }

  protected override decode(chunk: Uint8Array | undefined): void {
    if (!chunk) {
      this.#onLowerEnd();
      return;
    }
    if (this.#weirFrame) this.recognize(chunk);
    this.#isActive = true;
    this.#closeTimer?.touch();
    const decoder = this.#decoder;
    const data: Uint8Array[] = [];
    const most = this.#pieces.mayKeep ? FRAMES_A_PIECE : Infinity;
    for (const event of decoder.push(chunk, most)) {
      if (event.kind === 'data') data.push(event.data);
      else if (event.kind === 'ping') this.#ping = event.data;
      else if (event.kind === 'invalid') this.failAfterItems(event.error);
      else this.#onClose(event.code);
    }
    this.#pieces.keep(decoder.rest);
    this.#pieces.count(decoder.frames * UnitCost.frame);
    const { idleFrames } = decoder;
    if (idleFrames > 0 && !this.#idleFrames.take(this.#clock.now(), idleFrames)) {
      this.#pieces.keep(undefined);
      this.failAfterItems(new WsFrameError('too many frames without data', CloseCode.policy));
    }
    // Only the last Ping of a read is answered (§5.5.3), so that more Pings cause no more Pongs.
    if (this.#ping && !this.#pieces.hasRest) {
      this.#sendControl(Opcode.pong, this.#ping);
      this.#ping = undefined;
    }
    // A part of a chunk cannot own the chunk's memory while another part is still undecoded.
    this.items.push(...(this.#pieces.hasRest ? data : strip(chunk, data)));
  }

  /** @internal for `WsClient`: detects from the first bytes whether the server is Weir. */
  recognize(chunk: Uint8Array): void {
    const expected = this.#weirFrame;
    this.#weirFrame = undefined;
    if (!expected || chunk.length < expected.length) return;
    this.#isWeir = expected.equals(chunk.subarray(0, expected.length));
    if (this.#isWeir) this.#release();
  }

  /** Called when the connection has ended without a Close frame. */
  #onLowerEnd(): void {
    if (!this.#decoder.isAtBoundary) {
      this.failWith(new ProtocolError('WebSocket: the peer closed within a frame'));
    } else if (this.#isWeir) {
      this.failWith(new ProtocolError('WebSocket: the peer closed without a Close frame'));
    } else {
      this.#end();
    }
  }

  #onClose(code: number | undefined): void {
    const error = closeError(code);
    if (error) this.failAfterItems(error);
    else this.#end();
  }

  /** Called when the peer has ended its side. */
  #end(): void {
    this.#hasEnded = true;
    if (this.#held) this.#release();
    else if (this.closing) this.#finish(this.closing);
  }

  /** Sends a Close frame with the code of the peer's error, or echoes the peer's code (§5.5.1). */
  protected override failWith(failure: Error): void {
    if (failure instanceof WsFrameError && !this.#hasSentClose) {
      this.#writeClose(failure.closeCode)?.catch(() => undefined);
    }
    super.failWith(failure);
  }

  /** Sends a Ping or Pong, unless another one waits for the underlying link. */
  #sendControl(opcode: number, data: Uint8Array): void {
    if (this.#controlWaits || !this.isWritable) return;
    const full = this.lower.write(this.#frame(opcode, [data]));
    if (!full) return;
    this.#controlWaits = true;
    const done = (): void => {
      this.#controlWaits = false;
    };
    void full.catch(() => undefined).then(done);
  }

  #writeClose(code: number): Promise<void> | undefined {
    this.#hasSentClose = true;
    return this.lower.write(this.#frame(Opcode.close, [closePayload(code)]));
  }

  protected override sendEnd(): Promise<void> {
    if (this.#isWeir || this.#hasEnded) return this.#sendClose();
    this.#held = Promise.withResolvers();
    const hold = this.#random ? CLOSE_HOLD_MS : CLOSE_PAUSE_MS;
    this.#closeTimer = new IdleTimer(this.#clock, hold, () => this.#release());
    this.#closeTimer.start();
    return this.#held.promise;
  }

  /** Sends the delayed Close frame, if there is one. */
  #release(): void {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    this.#closeTimer?.stop();
    held.resolve(this.#sendClose());
  }

  #sendClose(): Promise<void> {
    const sent = Promise.resolve(this.#writeClose(CloseCode.normal));
    if (this.#hasEnded) {
      this.#finish(sent);
      // A peer that has ended both sides does not need the Close frame.
      return this.#isWeir ? sent : sent.catch(() => undefined);
    }
    if (!this.#isWeir) this.#watchSilence();
    return sent;
  }

  /** Ends the underlying connection, after both sides have ended. */
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

  /** Fails if the peer ignores the Close frame. Silence counts only while the link is being read. */
  #watchSilence(): void {
    const timer = new IdleTimer(this.#clock, CLOSE_SILENCE_MS, () => {
      if (!this.isReading) timer.start();
      else if (!this.error && !this.#hasEnded) this.failWith(new DeadlineError(IGNORED));
    });
    this.#closeTimer = timer;
    timer.start();
  }

  protected override closeLower(cause: Error | undefined): void {
    this.#stopTimers();
    // The connection is closed cleanly if the peer has failed (RFC 6455 §7.1.1, §7.1.7).
    if (cause && !this.hasFailed) this.lower.destroy(cause);
    else this.#linger();
  }

  #stopTimers(): void {
    this.#leave();
    if (this.error) this.#pieces.keep(undefined);
    this.#closeTimer?.stop();
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Waits until a Close frame that is still queued, for example in TLS, is sent. */
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

const IGNORED = `WebSocket: the peer was silent for ${CLOSE_SILENCE_MS / 1000} s after a Close frame`;
