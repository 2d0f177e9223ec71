import { CALL_BYTES, CALL_PIECES, WRITE_BYTES, type StreamTls } from '@weir/io/tls';
import { SmallUnits, UnitCost } from '@weir/io/bounds';
import { LINK_CLOSED, ProtocolError } from '@weir/io';
import { DecodedLink } from '@weir/io/layers';
import { MORE, type ByteLink, freeChunk, ownChunk, strip } from '@weir/io/links';
import type { TurnShare } from '@weir/io/time';
import { tlsReasonOf } from './tls-reason.ts';

/** Payload of a full record in bytes (RFC 8446 §5.1). */
const FULL_RECORD = 16_384;

/** The content type of encrypted records (RFC 8446 §5.1). */
const APPLICATION_DATA = 23;

/** Buffer in which chunks are joined; OpenSSL has consumed its contents when a call returns. */
const JOINED = Buffer.allocUnsafeSlow(FULL_RECORD);

/**
 * A TLS connection by OpenSSL over another link. close_notify is the half-close; if the underlying link ends without
 * close_notify, the connection fails, since the stream may be truncated (RFC 8446 §6.1).
 */
export class TlsLink extends DecodedLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #tls: StreamTls;
  readonly #units = new SmallUnits(UnitCost.record);
  readonly #resolveClosed: (cause: Error | undefined) => void;
  /** Whether close_notify was sent and the underlying link half-closed. */
  #isShut = false;
  /** Whether both sides have ended. */
  #isFinished = false;
  #isLowerClosed = false;

  /** Takes ownership of both arguments. */
  constructor(lower: ByteLink, tls: StreamTls) {
    super(lower);
    this.#tls = tls;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    void lower.closed.then((cause) => {
      this.#isLowerClosed = true;
      if (this.error !== undefined || this.#isFinished) this.#settle(this.closedCause);
      // Bytes received earlier may still be read; after a clean end they determine how the TLS connection ended.
      else if (cause) this.#resolveClosed(cause);
    });
  }

  /**
   * Performs the handshake with `peer`.
   *
   * A write should follow: the last flight is sent in the same segment if the peer does not need it earlier. Without a
   * write the kernel delays that flight by 200 ms.
   *
   * @param share charged for each read: a flight costs up to a millisecond
   * @throws {ProtocolError} when it fails, or the peer ends the connection; what the link below or `signal` rejects
   * with.
   */
  async handshake(
    peer: 'client' | 'server',
    signal: AbortSignal,
    share?: TurnShare,
  ): Promise<void> {
    const tls = this.#tls;
    for (;;) {
      // Handshake messages and alerts fit into the send buffer of the kernel.
      this.#flushLast(peer)?.catch(() => undefined);
      if (tls.failure !== undefined) throw new ProtocolError(tlsReasonOf(tls.failure));
      if (tls.isOpen) return;
      const chunk = await this.lower.read(signal);
      if (!chunk) throw new ProtocolError(`the ${peer} closed the connection during the handshake`);
      const turn = share?.take();
      if (turn) await turn;
      this.#receive(chunk);
    }
  }

  /** The ALPN protocol that the handshake has negotiated (RFC 7301); `undefined` without one. */
  get alpn(): string | undefined {
    return this.#tls.alpn;
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    if (chunk.length === 0) return undefined;
    const full = this.#encrypt(chunk);
    // Encryption has copied the chunk.
    if (isOwned) freeChunk(chunk);
    return full;
  }

  /** Writes a chunk, which is encrypted before the call returns. */
  lend(chunk: Uint8Array): Promise<void> | undefined {
    return this.write(chunk);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    if (!this.isWritable) return Promise.reject(this.closedError);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (length === 0) return undefined;
    const full = this.#encryptAll(inFullRecords(chunks), length);
    if (isOwned) for (const chunk of chunks) freeChunk(chunk);
    return full;
  }

  destroy(cause?: Error): void {
    if (this.error) {
      // The underlying link may still be lingering.
      if (cause && !this.hasFailed) this.lower.destroy(cause);
      return;
    }
    if (!cause && !this.closing) {
      this.#tls.end();
      this.#flush()?.catch(() => undefined);
    }
    this.closing?.catch(() => undefined);
    this.endBoth(cause ?? LINK_CLOSED, cause);
  }

  override resetAfterData(cause: Error): void {
    super.resetAfterData(cause);
    this.#units.release();
    this.#tls[Symbol.dispose]();
  }

  protected override get hasEnded(): boolean {
    return this.#tls.hasEnded;
  }

  protected override nextChunk(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    return this.#units.isWaiting ? this.#units.next(this.lower, signal) : this.lower.read(signal);
  }

  protected override decode(chunk: Uint8Array | undefined): void {
    if (!chunk) {
      this.failWith(new ProtocolError('TLS: the peer closed the connection without close_notify'));
      return;
    }
    this.#receive(this.#units.cut(chunk));
    this.#respond();
    const { failure, hasEnded } = this.#tls;
    if (hasEnded) this.#units.release();
    if (failure !== undefined) this.failWith(new ProtocolError(`TLS: ${tlsReasonOf(failure)}`));
    else if (hasEnded && this.#isShut) this.#finish();
  }

  #receive(chunk: Uint8Array): void {
    const before = this.#tls.records;
    const { length } = chunk;
    this.#open(chunk);
    this.#units.count(this.#tls.records - before, length);
  }

  #open(chunk: Uint8Array): void {
    if (chunk.length <= CALL_BYTES) {
      const payload = this.#tls.receive(chunk, ownChunk);
      this.items.push(...(payload.length === 1 ? strip(chunk, payload) : payload));
      return;
    }
    for (let at = 0; at < chunk.length; at += CALL_BYTES) {
      this.items.push(...this.#tls.receive(chunk.subarray(at, at + CALL_BYTES), ownChunk));
      // Protocol messages of TLS are sent before the next call.
      if (at + CALL_BYTES < chunk.length) this.#respond();
    }
  }

  #encrypt(chunk: Uint8Array): Promise<void> | undefined {
    let drained: Promise<void> | undefined;
    for (let at = 0; at < chunk.length; at += WRITE_BYTES) {
      const piece = chunk.length <= WRITE_BYTES ? chunk : chunk.subarray(at, at + WRITE_BYTES);
      drained = this.#encryptPieces([piece]);
      if (this.error) break;
    }
    return drained;
  }

  #encryptAll(pieces: readonly Uint8Array[], length: number): Promise<void> | undefined {
    if (length <= WRITE_BYTES && pieces.length <= CALL_PIECES) return this.#encryptPieces(pieces);
    let drained: Promise<void> | undefined;
    for (const piece of pieces) {
      drained = this.#encrypt(piece);
      if (this.error) break;
    }
    return drained;
  }

  #encryptPieces(pieces: readonly Uint8Array[]): Promise<void> | undefined {
    return this.#tls.write(pieces) ? this.#flush() : this.#failWrite();
  }

  /**
   * Sends protocol messages of TLS, such as a KeyUpdate; nothing is read until they are sent, which bounds their
   * number.
   */
  #respond(): void {
    const full = this.#flush();
    if (!full) return;
    const done = (): void => {
      this.responding = undefined;
    };
    this.responding = full.then(done, done);
  }

  /** Passes the output of OpenSSL to the underlying link. */
  #flush(): Promise<void> | undefined {
    const bytes = this.#tls.takeOutput();
    return bytes && this.#send(bytes, false);
  }

  /**
   * Sends a flight of the handshake. The last flight of a client may wait for the first write, since the server sends
   * nothing before a request, and so may the session tickets of TLS 1.3, which no client waits for.
   */
  #flushLast(peer: 'client' | 'server'): Promise<void> | undefined {
    const bytes = this.#tls.takeOutput();
    if (!bytes) return undefined;
    // In TLS 1.2 the server's last flight is not encrypted as a whole, and the client waits for it.
    const mayWait = peer === 'server' || bytes[0] === APPLICATION_DATA;
    return this.#send(bytes, mayWait && this.#tls.isOpen ? MORE : false);
  }

  #send(bytes: Uint8Array, more: boolean): Promise<void> | undefined {
    const { lower } = this;
    return lower.lend ? lower.lend(bytes, more) : lower.write(Buffer.from(bytes));
  }

  protected override async sendEnd(): Promise<void> {
    this.#tls.end();
    const last = this.#tls.takeOutput();
    this.#isShut = true;
    // The peer is then woken only once for close_notify and the end of the underlying stream.
    if (last && this.lower.closeWith) await this.lower.closeWith(Buffer.from(last));
    else {
      if (last) this.#send(last, false)?.catch(() => undefined);
      await this.lower.closeWrite();
    }
    if (this.#tls.hasEnded && !this.error) this.#finish();
  }

  /** Closes the connection after both sides have ended; further data of the underlying link is irrelevant. */
  #finish(): void {
    this.#isFinished = true;
    this.lower.destroy();
    if (this.#isLowerClosed) this.#settle(undefined);
  }

  #settle(cause: Error | undefined): void {
    this.#units.release();
    this.#tls[Symbol.dispose]();
    this.#resolveClosed(cause);
  }

  #failWrite(): Promise<void> {
    this.#flush()?.catch(() => undefined);
    this.failWith(new ProtocolError(`TLS: ${this.#tls.failure ?? 'the connection was closed'}`));
    return Promise.reject(this.closedError);
  }

  protected override closeLower(cause: Error | undefined): void {
    this.#units.release();
    this.lower.destroy(this.hasFailed ? undefined : cause);
    this.#tls[Symbol.dispose]();
    if (this.#isLowerClosed) this.#settle(cause);
  }
}

/**
 * Copies the first chunks together to fill a record, so that a short header before a long chunk does not get a record
 * of its own.
 */
function inFullRecords(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
  if (chunks.length === 1) return chunks;
  const rest: Uint8Array[] = [];
  let at = 0;
  for (const chunk of chunks) {
    const taken = Math.min(chunk.length, FULL_RECORD - at);
    JOINED.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), at);
    at += taken;
    if (taken < chunk.length) rest.push(taken === 0 ? chunk : chunk.subarray(taken));
  }
  return [JOINED.subarray(0, at), ...rest];
}
