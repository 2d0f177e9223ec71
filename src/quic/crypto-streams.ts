import type { QuicError } from './errors.ts';
import type { TlsLevel } from './tls-port.ts';

/** A part of the CRYPTO data of one level: what a frame carries. Reused: valid until the next call. */
export interface CryptoRange {
  offset: number;
  bytes: Uint8Array;
  /** Where in `bytes` the part starts. */
  at: number;
  size: number;
}

/**
 * The CRYPTO data of a connection (RFC 9000 §7.5, RFC 9001 §4.1.3): a stream in each direction for each
 * level, without flow control, so that bounds take its place.
 */
export declare class CryptoStreams {
  /** Queues bytes that TLS has made. */
  write(level: TlsLevel, bytes: Uint8Array): void;
  /** Whether there is something to send that has never been sent, or was lost. */
  hasPending(level: TlsLevel): boolean;
  /**
   * The next part to send, lost ones first, that fits into a frame of at most `room` bytes, header
   * included; it counts as sent. `undefined` when there is nothing, or no room.
   */
  next(level: TlsLevel, room: number): CryptoRange | undefined;
  /** A packet with this part was acknowledged. */
  acknowledged(level: TlsLevel, offset: number, size: number): void;
  /** A packet with this part was lost: what of it is not yet acknowledged is sent again. */
  lost(level: TlsLevel, offset: number, size: number): void;
  /** Everything that is not yet acknowledged is sent again: for probes (RFC 9002 §6.2.4). */
  resend(level: TlsLevel): void;
  /**
   * Takes the data of a CRYPTO frame; what cannot be read yet is copied.
   * @returns CRYPTO_BUFFER_EXCEEDED for data beyond the bounds of `limits.ts`.
   */
  receive(
    level: TlsLevel,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
  ): QuicError | undefined;
  /** The next bytes in order, for TLS; `undefined` when they have not come. */
  read(level: TlsLevel): Uint8Array | undefined;
  /** The keys of a level are gone: forgets what it held and ignores what comes (RFC 9001 §4.9). */
  discard(level: TlsLevel): void;
  /** Whether everything written has been acknowledged. */
  isAcknowledged(level: TlsLevel): boolean;
}
