import type { QuicError } from '../errors.ts';
import type { CipherSuite } from './packet-keys.ts';

/** Why a 1-RTT packet was not opened. */
export type OpenResult = 'opened' | 'dropped' | QuicError;

/**
 * The 1-RTT keys of a connection through all key updates (RFC 9001 §6): which packet takes which, when
 * the previous ones are discarded, when an update is due.
 *
 * Keys for the next phase are always there before they are needed, so that the time that a packet
 * takes does not tell whether it made an update (§9.5).
 */
export declare class OneRttKeys implements Disposable {
  /** Keys to send with, once TLS has them. */
  installWrite(suite: CipherSuite, secret: Uint8Array): void;
  /** Keys to receive with, once TLS has them. */
  installRead(suite: CipherSuite, secret: Uint8Array): void;
  readonly canWrite: boolean;
  readonly canRead: boolean;
  /** For the header of the next packet to send. */
  readonly writePhase: 0 | 1;

  /** Seals a packet of the current phase: see `PacketSealer.seal`. */
  seal(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    numberSize: number,
    end: number,
    packetNumber: number,
  ): number;
  protectHeaders(): void;

  /** See `PacketOpener`. */
  prepareMasks(bytes: Uint8Array, numberOffset: number, stride: number, end: number): number;
  unprotect(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    largest: number,
    mask?: number,
  ): number;
  /**
   * Opens an unprotected packet with the keys of its phase, and follows an update by the peer.
   *
   * @param probeTimeout the current PTO in milliseconds: the keys before an update are kept for three.
   * @returns an error when the peer updates out of turn (KEY_UPDATE_ERROR) or when too many packets
   *   were not authentic (AEAD_LIMIT_REACHED).
   */
  open(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    packetNumber: number,
    now: number,
    probeTimeout: number,
  ): OpenResult;

  /** The handshake is confirmed: updates are allowed from now on (§6.1). */
  onConfirmed(): void;
  /** The peer has acknowledged a packet: once it is one of the current phase, the next update may follow. */
  onAcknowledged(packetNumber: number): void;
  /**
   * Whether these keys have sealed so many packets that an update should be made with
   * `initiateUpdate`, which the connection calls before it assembles the next packet.
   */
  readonly updateDue: boolean;
  /** Changes to the next keys. False when it is not allowed yet. */
  initiateUpdate(now: number, probeTimeout: number): boolean;
  /** Set when the last packet that these keys may seal was sealed: close with it (§6.6). */
  readonly exhausted: QuicError | undefined;

  /** When the previous keys are to be discarded, in the time of `now`. */
  nextTimeout(): number | undefined;
  onTimeout(now: number): void;
  [Symbol.dispose](): void;
}
