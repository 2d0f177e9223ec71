import { QuicError, TransportErrorCode } from '../errors.ts';
import type { DeliveryListener, FrameLog } from '../recovery/delivery.ts';
import { Space } from '../wire/packet-header.ts';
import type { TlsLevel } from '../contract.ts';
import { fittingSize } from '../wire/frame-writers.ts';
import { FrameType } from '../wire/frame-types.ts';
import { varintSize } from '../wire/varint.ts';
import { RangeSet } from '@weir/base/bytes';

/** Returns the TLS level whose CRYPTO data the packets of a space carry (RFC 9001 §4.1.3). */
export const levelOf = (space: Space): TlsLevel =>
  space === Space.APPLICATION ? 'application' : space === Space.HANDSHAKE ? 'handshake' : 'initial';

/** The CRYPTO data of one frame. The object is reused: valid until the next call. */
interface CryptoRange {
  offset: number;
  bytes: Uint8Array;
  /** The index in `bytes` where the data starts. */
  at: number;
  size: number;
}

/**
 * Bytes that received CRYPTO data may be ahead of the data that TLS has read. RFC 9000 §7.5 requires at least 4,096;
 * these values allow a ClientHello in any order, and a server's whole flight whose first packet was lost. Data beyond
 * it closes the connection with CRYPTO_BUFFER_EXCEEDED.
 */
export const CRYPTO_WINDOW = { initial: 0x4000, handshake: 0x10000, application: 0x4000 } as const;

/**
 * Total bytes of CRYPTO data that a peer may send at a level: two ClientHellos, a long chain of
 * certificates, the session tickets of a long connection. More is CRYPTO_BUFFER_EXCEEDED.
 */
const CRYPTO_TOTAL = { initial: 0x8000, handshake: 0x20000, application: 0x10000 } as const;

/**
 * Separate ranges of received data that a level holds. Browsers scatter a ClientHello over about ten
 * frames; more ranges than this are CRYPTO_BUFFER_EXCEEDED.
 */
export const MAX_CRYPTO_PIECES = 64;

const NO_BYTES = new Uint8Array(0);

const exceeded = (reason: string): QuicError =>
  new QuicError(TransportErrorCode.CRYPTO_BUFFER_EXCEEDED, reason, FrameType.CRYPTO);

/**
 * The CRYPTO data of a connection (RFC 9000 §7.5, RFC 9001 §4.1.3): at each level, a stream in each direction,
 * which has bounds instead of flow control.
 */
export class CryptoStreams {
  readonly initial = new LevelStreams('initial');
  readonly handshake = new LevelStreams('handshake');
  readonly application = new LevelStreams('application');
}

class LevelStreams {
  readonly sending = new CryptoSending();
  readonly receiving: CryptoReceiving;

  constructor(level: TlsLevel) {
    this.receiving = new CryptoReceiving(CRYPTO_WINDOW[level], CRYPTO_TOTAL[level]);
  }

  /** Forgets the data of the level, whose keys were discarded, and ignores further data (RFC 9001 §4.9). */
  discard(): void {
    this.sending.discard();
    this.receiving.discard();
  }
}

/** The data of TLS at one level, until it is acknowledged. */
class CryptoSending implements DeliveryListener {
  #bytes: Uint8Array = NO_BYTES;
  /** Every byte below this offset was sent. */
  #sent = 0;
  readonly #lost = new RangeSet();
  readonly #acknowledged = new RangeSet();
  readonly #range: CryptoRange = { offset: 0, bytes: NO_BYTES, at: 0, size: 0 };

  /** Whether there are bytes that were never sent, or were lost. */
  get hasPending(): boolean {
    return this.#lost.size > 0 || this.#sent < this.#bytes.length;
  }

  /** Queues bytes produced by TLS. Called rarely: at most about five times per connection. */
  write(bytes: Uint8Array): void {
    const all = new Uint8Array(this.#bytes.length + bytes.length);
    all.set(this.#bytes);
    all.set(bytes, this.#bytes.length);
    this.#bytes = all;
  }

  /**
   * Returns the next bytes to send, lost ones first, that fit into a frame of at most `room` bytes, header included.
   * They are recorded in `log` as sent. `undefined` when there are none, or no room.
   */
  next(room: number, log: FrameLog): CryptoRange | undefined {
    const isLost = this.#lost.size > 0;
    const offset = isLost ? this.#lost.start(0) : this.#sent;
    const end = isLost ? this.#lost.end(0) : this.#bytes.length;
    const size = fittingSize(room - 1 - varintSize(offset), end - offset);
    if (size < 1) return undefined;
    if (isLost) this.#lost.remove(offset, offset + size);
    else this.#sent = offset + size;
    const range = this.#range;
    range.offset = range.at = offset;
    range.bytes = this.#bytes;
    range.size = size;
    log.add(this, offset, size);
    return range;
  }

  onAcknowledged(offset: number, size: number): void {
    this.#acknowledged.add(offset, offset + size);
    this.#lost.remove(offset, offset + size);
  }

  /** Marks the part that is not acknowledged for retransmission. */
  onLost(offset: number, size: number): void {
    // Nothing is retransmitted after `discard`.
    const end = Math.min(offset + size, this.#sent);
    if (offset >= end) return;
    this.#lost.add(offset, end);
    for (let i = 0; i < this.#acknowledged.size; i++) {
      this.#lost.remove(this.#acknowledged.start(i), this.#acknowledged.end(i));
    }
  }

  discard(): void {
    this.#bytes = NO_BYTES;
    this.#range.bytes = NO_BYTES;
    this.#sent = 0;
    this.#lost.clear();
    this.#acknowledged.clear();
  }
}

/** The peer's data at one level that TLS has not read. */
class CryptoReceiving {
  readonly #window: number;
  readonly #total: number;
  /** Every byte below this offset was passed to TLS. */
  #read = 0;
  readonly #pieces = new RangeSet();
  /** The bytes from `#base` on; empty when there are none. */
  #bytes: Uint8Array = NO_BYTES;
  #base = 0;
  #isDiscarded = false;

  constructor(window: number, total: number) {
    this.#window = window;
    this.#total = total;
  }

  /**
   * Receives the data of a CRYPTO frame, which is copied.
   * @returns CRYPTO_BUFFER_EXCEEDED for data beyond the bounds.
   */
  receive(offset: number, bytes: Uint8Array, at: number, size: number): QuicError | undefined {
    if (this.#isDiscarded) return undefined;
    const end = offset + size;
    if (end <= this.#read) return undefined;
    if (end > this.#total) return exceeded('more CRYPTO data than a connection needs');
    if (end > this.#read + this.#window) return exceeded('CRYPTO data too far ahead');
    const start = Math.max(offset, this.#read);
    // Retransmitted bytes are the same as before (RFC 9000 §2.2), so the last ones may replace others.
    this.#room(end);
    this.#bytes.set(bytes.subarray(at + (start - offset), at + size), start - this.#base);
    this.#pieces.add(start, end);
    if (this.#pieces.size > MAX_CRYPTO_PIECES) return exceeded('CRYPTO data in too many pieces');
    return undefined;
  }

  /** Returns the next bytes in order, for TLS, valid until the next `receive`; `undefined` for none. */
  read(): Uint8Array | undefined {
    if (this.#pieces.size === 0 || this.#pieces.start(0) !== this.#read) return undefined;
    const end = this.#pieces.end(0);
    const bytes = this.#bytes.subarray(this.#read - this.#base, end - this.#base);
    this.#pieces.remove(this.#read, end);
    this.#read = end;
    if (this.#pieces.size === 0) this.#bytes = NO_BYTES;
    return bytes;
  }

  discard(): void {
    this.#isDiscarded = true;
    this.#bytes = NO_BYTES;
    this.#pieces.clear();
  }

  /** Makes room for bytes up to `end`, which is within the window. */
  #room(end: number): void {
    if (this.#bytes.length === 0) this.#base = this.#read;
    if (end - this.#base <= this.#bytes.length) return;
    // Twice the needed size, so that data in small frames is not copied for each of them.
    const held = this.#bytes.subarray(this.#read - this.#base);
    const grown = new Uint8Array(Math.min(this.#window, 2 * (end - this.#read)));
    grown.set(held.subarray(0, grown.length));
    this.#bytes = grown;
    this.#base = this.#read;
  }
}
