import { asError } from '@weir/base';
import { SmallUnits, UnitCost } from '@weir/io/bounds';
import { type Clock, type Timer, FIRST_PAYLOAD_MS } from '@weir/io/time';
import { LinkClosedError, ProtocolError } from '@weir/io';
import { OWNED, type ByteLink, freeChunk } from '@weir/io/links';

/** The sending half of a stream: payload to bytes of the carrier. */
export interface StreamSealer extends Disposable {
  /** Seals `pieces` into one buffer; in the first call after the headers. */
  seal(pieces: readonly Uint8Array[]): Buffer;
}

/** The receiving half of a stream: bytes of the carrier to payload. */
export interface StreamOpener extends Disposable {
  /** Opens bytes; returns the payload that they complete. @throws {ProtocolError} */
  push(bytes: Uint8Array): Uint8Array;
  /** Number of chunks opened so far. */
  readonly chunks: number;
  /** Whether the peer may end the stream at this point. */
  readonly atBoundary: boolean;
}

/** Shared by all links: an error with a stack costs more than closing a link. */
const CLOSED = new LinkClosedError();

/** The payload link of a Shadowsocks stream. Each write is one write to the carrier. */
export class ShadowsocksLink implements ByteLink {
  readonly #inner: ByteLink;
  readonly #sealer: StreamSealer;
  readonly #opener: StreamOpener;
  readonly #units = new SmallUnits(UnitCost.sealedChunk);
  #unread: Uint8Array[] = [];
  #writeEnded = false;
  #readEnded = false;
  #failure: Error | undefined;
  /** Whether a client's headers have yet to be sent. */
  #headersPending = false;
  #timer: Timer | undefined;

  /**
   * @param clock given for a client, whose headers are sent without payload after FIRST_PAYLOAD_MS: in
   *   some protocols the server sends first.
   */
  constructor(inner: ByteLink, sealer: StreamSealer, opener: StreamOpener, clock?: Clock) {
    this.#inner = inner;
    this.#sealer = sealer;
    this.#opener = opener;
    if (clock) {
      this.#headersPending = true;
      this.#timer = clock.after(FIRST_PAYLOAD_MS, () => {
        // Readers and writers of the link get the error.
        if (this.#headersPending) this.#send([])?.catch(() => undefined);
      });
    }
    void inner.closed.then(() => this.#endWriting());
  }

  get closed(): Promise<Error | undefined> {
    return this.#inner.closed;
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      const unread = this.#unread.pop();
      if (unread) return unread;
      if (this.#failure) throw this.#failure;
      if (this.#readEnded) return undefined;
      const units = this.#units;
      const bytes = units.isWaiting
        ? await units.next(this.#inner, signal)
        : await this.#inner.read(signal);
      const payload = this.#take(bytes);
      if (payload === undefined) return undefined;
      if (payload.length > 0) return payload;
    }
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#unread.push(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#unread.pop();
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    return this.writeOutput([chunk], isOwned);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    if (this.#writeEnded) return Promise.reject(this.#failure ?? CLOSED);
    // An empty write would become an empty chunk, or headers without payload.
    if (!chunks.some(({ length }) => length > 0)) return undefined;
    const full = this.#send(chunks);
    if (isOwned) for (const chunk of chunks) freeChunk(chunk); // their sealed copy is sent
    return full;
  }

  async closeWrite(): Promise<void> {
    if (this.#headersPending && !this.#writeEnded) await this.#send([]);
    this.#endWriting();
    await this.#inner.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#end(cause ?? CLOSED);
    this.#inner.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#end(cause);
    this.#inner.resetAfterData(cause);
  }

  #end(failure: Error): void {
    this.#failure ??= failure;
    this.#unread = [];
    this.#endReading();
    this.#endWriting();
  }

  #send(pieces: readonly Uint8Array[]): Promise<void> | undefined {
    this.#headersPending = false;
    this.#timer?.cancel();
    const bytes = this.#sealer.seal(pieces);
    return this.#inner.write(bytes, OWNED);
  }

  /**
   * Opens received bytes; returns their payload, `undefined` at the end of the stream.
   * @throws {ProtocolError}
   */
  #take(read: Uint8Array | undefined): Uint8Array | undefined {
    // The link was destroyed during the read.
    if (this.#readEnded) throw this.#failure ?? CLOSED;
    const bytes = this.#units.cut(read);
    try {
      if (bytes) {
        const before = this.#opener.chunks;
        const payload = this.#opener.push(bytes);
        this.#units.count(this.#opener.chunks - before, bytes.length);
        freeChunk(bytes);
        return payload;
      }
      if (!this.#opener.atBoundary) {
        throw new ProtocolError('shadowsocks: the stream is truncated within a chunk');
      }
      this.#endReading();
      return undefined;
    } catch (error) {
      this.destroy(asError(error));
      throw error;
    }
  }

  #endReading(): void {
    this.#readEnded = true;
    this.#units.release();
    this.#opener[Symbol.dispose]();
  }

  #endWriting(): void {
    this.#timer?.cancel();
    this.#headersPending = false;
    this.#writeEnded = true;
    this.#sealer[Symbol.dispose]();
  }
}
