import { LinkClosedError, ProtocolError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { freeChunk, giveTo } from '../../net/spent-chunk.ts';
import type { BodyDecoder } from './chunk-opener.ts';
import type { ChunkSealer } from './chunk-sealer.ts';

/** A connection after its request was read or made: what both kinds of payload are carried by. */
export interface BodyParts {
  readonly carrier: ByteLink;
  readonly decoder: BodyDecoder;
  readonly sealer: ChunkSealer;
  /**
   * The header of this side, sealed. It goes out with the first payload in one write: there are
   * peers that want a request whole from one read, and one that comes alone is easily told.
   */
  readonly preface: Uint8Array;
}

/**
 * The two directions of a body over their carrier, and the life of their ciphers: each is closed as
 * soon as its direction has ended.
 */
export class Body {
  /** Resolves when both directions have ended, or with the cause when they were cut. */
  readonly closed: Promise<Error | undefined>;
  readonly #carrier: ByteLink;
  readonly #decoder: BodyDecoder;
  readonly #sealer: ChunkSealer;
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
    // After a clean end there may be bytes left to read: the ciphers stay until these were read.
    void carrier.closed.then((cause) => (cause ? this.destroy(cause) : resolve(this.#cause)));
  }

  /** Why nothing can be read or written any more. */
  get cause(): Error | undefined {
    return this.#cause;
  }

  /** Whether `closeWrite` or `destroy` was called. */
  get isWritable(): boolean {
    return this.#closing === undefined && !this.#destroyed;
  }

  /**
   * The payload of the next bytes of the carrier, which may be none; `undefined` once it has ended.
   * With `ends` as for a decoder. What is not authentic destroys the carrier.
   */
  async read(signal?: AbortSignal, ends?: number[]): Promise<Uint8Array | undefined> {
    if (this.#ended) return undefined;
    const bytes = await this.#carrier.read(signal);
    try {
      if (bytes) {
        const payload = this.#decoder.push(bytes, ends);
        freeChunk(bytes);
        if (this.#decoder.ended) this.#end();
        return payload;
      }
      if (!this.#decoder.mayEnd) {
        throw new ProtocolError('the VMess peer closed in the middle of a message');
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : undefined);
      throw error;
    }
    this.#end();
    return undefined;
  }

  /** Sends payload of a stream, not empty. */
  sendStream(payload: Uint8Array): Promise<void> | undefined {
    return this.#send(this.#sealer.stream(payload, this.#takePreface()));
  }

  /** Sends a datagram, not empty and not longer than a chunk can be. */
  sendDatagram(payload: Uint8Array): Promise<void> | undefined {
    return this.#send(this.#sealer.datagram(payload, this.#takePreface()));
  }

  /** Sends the header alone when there has been no payload to go with it. */
  sendPreface(): void {
    if (!this.isWritable || this.#preface === undefined) return;
    // A failure is the carrier's end, and `closed` tells of that.
    this.#carrier.write(this.#preface)?.catch(() => undefined);
    this.#preface = undefined;
  }

  closeWrite(): Promise<void> {
    this.#closing ??= this.#closeWrite();
    return this.#closing;
  }

  destroy(cause?: Error): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#cause = cause;
    this.#carrier.destroy(cause);
    this.#decoder[Symbol.dispose]();
    this.#sealer[Symbol.dispose]();
    this.#resolveClosed(cause);
  }

  async #closeWrite(): Promise<void> {
    if (this.#destroyed) throw this.#cause ?? new LinkClosedError();
    const last = this.#sealer.end(this.#takePreface());
    this.#sealer[Symbol.dispose]();
    if (last.length > 0) await this.#carrier.write(last);
    // Peers that know no empty chunk wait for the end of the carrier.
    await this.#carrier.closeWrite();
    if (this.#ended) this.#settle();
  }

  /** The peer's payload has ended. */
  #end(): void {
    this.#ended = true;
    this.#decoder[Symbol.dispose]();
    if (this.#closing) void this.#closing.then(() => this.#settle()).catch(() => undefined);
  }

  /** Both directions are over: the carrier has nothing left to say. */
  #settle(): void {
    this.#carrier.destroy();
    this.#resolveClosed(undefined);
  }

  /** What was sealed belongs to nobody else. */
  #send(sealed: Uint8Array): Promise<void> | undefined {
    return giveTo(this.#carrier, sealed);
  }

  #takePreface(): Uint8Array | undefined {
    const preface = this.#preface;
    this.#preface = undefined;
    return preface;
  }
}
