import type { Clock, Timer } from '../../net/clock.ts';
import { LinkClosedError, ProtocolError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { freeChunk, giveOrWrite } from '../../net/spent-chunk.ts';

/** The sending half of a stream: payload in, bytes for the wire out. */
export interface Outgoing extends Disposable {
  /** What carries `pieces`, in one buffer; with the first, whatever comes before payload. */
  wrap(pieces: readonly Uint8Array[]): Buffer;
}

/** The receiving half of a stream: bytes from the wire in, payload out. */
export interface Incoming extends Disposable {
  /** The payload that is whole with these bytes. @throws {ProtocolError} */
  push(bytes: Uint8Array): Uint8Array;
  /** Whether the peer may end the stream here. */
  readonly atBoundary: boolean;
}

/** How long a client's header waits for payload to travel with. */
const FIRST_PAYLOAD_MS = 100;

/** A Shadowsocks stream as a link of its payload. Each write is one write below. */
export class ShadowsocksLink implements ByteLink {
  readonly #inner: ByteLink;
  readonly #outgoing: Outgoing;
  readonly #incoming: Incoming;
  #unread: Uint8Array[] = [];
  #writeEnded = false;
  #readEnded = false;
  #failure: Error | undefined;
  /** A client's header that has not been sent. */
  #greeting = false;
  #timer: Timer | undefined;

  /**
   * @param clock of a client, whose header goes out without payload when none comes soon: there are
   *   protocols in which the server speaks first.
   */
  constructor(inner: ByteLink, outgoing: Outgoing, incoming: Incoming, clock?: Clock) {
    this.#inner = inner;
    this.#outgoing = outgoing;
    this.#incoming = incoming;
    if (clock) {
      this.#greeting = true;
      this.#timer = clock.after(FIRST_PAYLOAD_MS, () => {
        // A link that has failed tells its readers and writers itself.
        if (this.#greeting) this.#send([])?.catch(() => undefined);
      });
    }
    void inner.closed.then(() => this.#endWriting());
  }

  get closed(): Promise<Error | undefined> {
    return this.#inner.closed;
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      const given = this.#unread.pop();
      if (given) return given;
      if (this.#failure) throw this.#failure;
      if (this.#readEnded) return undefined;
      const bytes = await this.#inner.read(signal);
      const payload = this.#take(bytes);
      if (payload === undefined) return undefined;
      if (payload.length > 0) return payload;
    }
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#unread.push(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.writeAll([chunk]);
  }

  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.#writeEnded) return Promise.reject(this.#failure ?? new LinkClosedError());
    // An empty write would be a chunk of nothing, or a header without what belongs to it.
    return chunks.some(({ length }) => length > 0) ? this.#send(chunks) : undefined;
  }

  give(chunk: Uint8Array): Promise<void> | undefined {
    const full = this.writeAll([chunk]);
    freeChunk(chunk); // its sealed copy is what is sent
    return full;
  }

  async closeWrite(): Promise<void> {
    if (this.#greeting && !this.#writeEnded) await this.#send([]);
    this.#endWriting();
    await this.#inner.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#failure ??= cause ?? new LinkClosedError();
    this.#unread = [];
    this.#endReading();
    this.#endWriting();
    this.#inner.destroy(cause);
  }

  #send(pieces: readonly Uint8Array[]): Promise<void> | undefined {
    this.#greeting = false;
    this.#timer?.cancel();
    const bytes = this.#outgoing.wrap(pieces);
    return giveOrWrite(this.#inner, bytes);
  }

  /** The payload of what came; `undefined` at the end. @throws {ProtocolError} */
  #take(bytes: Uint8Array | undefined): Uint8Array | undefined {
    // Destroyed while the read was on its way.
    if (this.#readEnded) throw this.#failure ?? new LinkClosedError();
    try {
      if (bytes) {
        const payload = this.#incoming.push(bytes);
        freeChunk(bytes);
        return payload;
      }
      if (!this.#incoming.atBoundary) {
        throw new ProtocolError('shadowsocks: the stream ends in the middle of a chunk');
      }
      this.#endReading();
      return undefined;
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  #endReading(): void {
    this.#readEnded = true;
    this.#incoming[Symbol.dispose]();
  }

  #endWriting(): void {
    this.#timer?.cancel();
    this.#greeting = false;
    this.#writeEnded = true;
    this.#outgoing[Symbol.dispose]();
  }
}
