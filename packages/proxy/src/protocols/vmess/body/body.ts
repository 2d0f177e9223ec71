import { SmallUnits, UnitCost } from '@weir/io/bounds';
import { LinkClosedError, TruncatedError } from '@weir/io';
import { OWNED, type ByteLink, freeChunk } from '@weir/io/links';
import type { PayloadDecoder, BodySealer } from './body-chunks.ts';
import { abortReason } from '@weir/io/time';

/** A connection whose request was read, or is ready to be written. */
export interface BodyParts {
  readonly carrier: ByteLink;
  readonly decoder: PayloadDecoder;
  readonly sealer: BodySealer;
  /**
   * The sealed header of this side. It is sent in one write with the first payload: some peers expect the whole request
   * in one read, and a separate header is recognizable by its length.
   */
  readonly preface: Uint8Array;
}

/**
 * The two directions of a body over their carrier. The cipher of each is disposed of when its
 * direction ends.
 */
export class Body {
  /** Resolves when both directions have ended, or with the cause when they were aborted. */
  readonly closed: Promise<Error | undefined>;
  readonly #carrier: ByteLink;
  readonly #decoder: PayloadDecoder;
  readonly #units = new SmallUnits(UnitCost.sealedChunk);
  readonly #sealer: BodySealer;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #preface: Uint8Array | undefined;
  #ended = false;
  #closing: Promise<void> | undefined;
  #destroyed = false;
  #cause: Error | undefined;

  constructor({ carrier, decoder, sealer, preface }: BodyParts) {
    this.#carrier = carrier;
    this.#decoder = decoder;
    this.#sealer = sealer;
    this.#preface = preface;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    // There may be bytes left to read, which need the cipher.
    void carrier.closed.then((cause) => resolve(this.#cause ?? cause));
  }

  /** The cause given to `destroy`. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Whether neither `closeWrite` nor `destroy` was called. */
  get isWritable(): boolean {
    return this.#closing === undefined && !this.#destroyed;
  }

  /**
   * Reads the payload of the next bytes of the carrier, which may be empty; `undefined` after its end. `ends` receives
   * the offsets of chunks, as for a decoder. Bytes that are not authentic destroy the carrier.
   */
  async read(signal?: AbortSignal, ends?: number[]): Promise<Uint8Array | undefined> {
    if (this.#ended) return undefined;
    const units = this.#units;
    const bytes = units.isWaiting
      ? await units.next(this.#carrier, signal)
      : await this.#carrier.read(signal);
    if (this.#destroyed) throw this.#cause ?? new LinkClosedError();
    // Datagrams wait for their turns by themselves.
    if (bytes) return this.#open(ends ? bytes : units.cut(bytes), ends);
    if (!this.#decoder.mayEnd) {
      const error = new TruncatedError('the VMess peer closed in the middle of a message');
      this.destroy(error);
      throw error;
    }
    this.#end();
    return undefined;
  }

  /** Decodes the payload of bytes that the carrier has already received, if any. */
  takeAhead(): Uint8Array | undefined {
    if (this.#ended || this.#units.isWaiting) return undefined;
    const bytes = this.#units.cut(this.#carrier.takeAhead?.());
    if (!bytes) return undefined;
    try {
      const payload = this.#open(bytes);
      return payload.length > 0 ? payload : undefined;
    } catch {
      return undefined; // the carrier was destroyed, which the next read reports
    }
  }

  /** Sends payload of a stream, which must not be empty. */
  sendStream(payload: Uint8Array): Promise<void> | undefined {
    return this.#send(this.#sealer.stream(payload, this.#takePreface()));
  }

  /** Sends a datagram of 1 to `LONGEST_DATAGRAM` bytes. */
  sendDatagram(payload: Uint8Array): Promise<void> | undefined {
    return this.#send(this.#sealer.datagram(payload, this.#takePreface()));
  }

  /** Sends the header without payload, unless it was already sent. */
  sendPreface(): void {
    if (!this.isWritable || this.#preface === undefined) return;
    // A failure ends the carrier, which `closed` reports.
    this.#carrier.write(this.#preface)?.catch(() => undefined);
    this.#preface = undefined;
  }

  closeWrite(): Promise<void> {
    this.#closing ??= this.#closeWrite();
    return this.#closing;
  }

  destroy(cause?: Error): void {
    this.#leave(cause, () => this.#carrier.destroy(cause));
  }

  resetAfterData(cause: Error): void {
    this.#leave(cause, () => this.#carrier.resetAfterData(cause));
  }

  #leave(cause: Error | undefined, endCarrier: () => void): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#cause = cause;
    this.#units.release();
    endCarrier();
    this.#decoder[Symbol.dispose]();
    this.#sealer[Symbol.dispose]();
    this.#resolveClosed(cause);
  }

  async #closeWrite(): Promise<void> {
    if (this.#destroyed) throw this.#cause ?? new LinkClosedError();
    const last = this.#sealer.end(this.#takePreface());
    this.#sealer[Symbol.dispose]();
    // Peers without an empty chunk at the end wait for the end of the carrier.
    if (last.length > 0 && this.#carrier.closeWith) await this.#carrier.closeWith(last);
    else {
      if (last.length > 0) await this.#carrier.write(last);
      await this.#carrier.closeWrite();
    }
    if (this.#ended) this.#settle();
  }

  /** Decodes bytes of the carrier; destroys the carrier when they are not authentic. */
  #open(bytes: Uint8Array, ends?: number[]): Uint8Array {
    try {
      const before = this.#decoder.chunks;
      const payload = this.#decoder.push(bytes, ends);
      // Chunks with datagrams are counted as datagrams.
      if (!ends) this.#units.count(this.#decoder.chunks - before, bytes.length);
      freeChunk(bytes);
      if (this.#decoder.ended) this.#end();
      return payload;
    } catch (error) {
      this.destroy(error instanceof Error ? error : undefined);
      throw error;
    }
  }

  /** Called when the peer's payload has ended. */
  #end(): void {
    this.#ended = true;
    this.#units.release();
    this.#decoder[Symbol.dispose]();
    if (this.#closing) void this.#closing.then(() => this.#settle()).catch(() => undefined);
  }

  /** Called when both directions have ended: nothing more is sent on the carrier. */
  #settle(): void {
    this.#carrier.destroy();
    this.#resolveClosed(undefined);
  }

  /** Sends the sealed chunk and passes its memory on: it has no other owner. */
  #send(sealed: Uint8Array): Promise<void> | undefined {
    return this.#carrier.write(sealed, OWNED);
  }

  #takePreface(): Uint8Array | undefined {
    const preface = this.#preface;
    this.#preface = undefined;
    return preface;
  }
}

/** The stream inside a VMess connection. */
export class BodyLink implements ByteLink {
  readonly #body: Body;
  /** Chunks that were put back; the next to be read is the last. */
  readonly #ahead: Uint8Array[] = [];

  constructor(parts: BodyParts) {
    this.#body = new Body(parts);
  }

  get closed(): Promise<Error | undefined> {
    return this.#body.closed;
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (signal?.aborted) throw abortReason(signal);
    const given = this.#ahead.pop();
    if (given) return given;
    for (;;) {
      const payload = await this.#body.read(signal);
      if (payload === undefined || payload.length > 0) return payload;
    }
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#ahead.push(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#ahead.pop() ?? this.#body.takeAhead();
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (!this.#body.isWritable) return Promise.reject(this.#closedError());
    if (chunk.length === 0) return undefined;
    const full = this.#body.sendStream(chunk);
    if (isOwned) freeChunk(chunk); // its sealed copy is sent
    return full;
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    const [only] = chunks;
    if (chunks.length === 1 && only) return this.write(only, isOwned);
    return this.write(Buffer.concat(chunks));
  }

  /**
   * Sends the header if nothing was written yet, for protocols in which the server sends first.
   */
  sendPreface(): void {
    this.#body.sendPreface();
  }

  closeWrite(): Promise<void> {
    return this.#body.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#ahead.length = 0;
    this.#body.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#ahead.length = 0;
    this.#body.resetAfterData(cause);
  }

  #closedError(): Error {
    return this.#body.cause ?? new LinkClosedError();
  }
}
