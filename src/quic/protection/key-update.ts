import { QuicError, TransportErrorCode } from '../errors.ts';
import { keyPhaseOf } from '../wire/packet-header.ts';
import { PacketOpener, PacketSealer, type CipherSuite } from './packet-keys.ts';

/** What became of a packet: `dropped` ones are not authentic, and nothing of them is to be used. */
export type OpenResult = 'opened' | 'dropped' | QuicError;

/** Probe timeouts for which the keys before an update are kept (RFC 9001 §6.5). */
const KEPT_PROBE_TIMEOUTS = 3;

/** Packets after which an update is due: half of what AES-GCM may seal (§6.6), some 5 GB. */
const UPDATE_AFTER = 2 ** 22;

/** Packets that are left for closing the connection when no update was possible. */
const RESERVE = 16;

/** Counts of packets. */
export interface KeyLimits {
  /** After which an update is due. */
  readonly updateAfter?: number;
  /** That keys may seal, and that may fail authentication on a connection (§6.6). */
  readonly confidentiality?: number;
  readonly integrity?: number;
}

const { KEY_UPDATE_ERROR, AEAD_LIMIT_REACHED } = TransportErrorCode;

const other = (phase: 0 | 1): 0 | 1 => (phase === 0 ? 1 : 0);

/**
 * The 1-RTT keys of a connection through all key updates (RFC 9001 §6): which packet takes which, when
 * the previous ones are discarded, when an update is due.
 *
 * Keys for the next phase are made when those of a phase come into use, after a packet was found
 * authentic. A forged packet finds them ready, so the time that it takes does not tell what its key
 * phase bit was (§9.5).
 */
export class OneRttKeys implements Disposable {
  #write: PacketSealer | undefined;
  #writePhase: 0 | 1 = 0;
  /** The first packet number sealed in this phase; Infinity before. */
  #firstWritten = Infinity;
  #isWriteAcknowledged = false;
  #confirmed = false;

  #read: PacketOpener | undefined;
  #readNext: PacketOpener | undefined;
  #readPrevious: PacketOpener | undefined;
  #readPhase: 0 | 1 = 0;
  /** The lowest packet number opened in this phase: lower ones of the other phase are older. */
  #firstRead = Infinity;
  #discardAt: number | undefined;
  #rejected = 0;
  readonly #limits: KeyLimits;
  #updates = 0;

  /** @param limits instead of those of the suite, for tests. */
  constructor(limits: KeyLimits = {}) {
    this.#limits = limits;
  }

  /** Keys to send with, once TLS has them. */
  installWrite(suite: CipherSuite, secret: Uint8Array): void {
    this.#write = new PacketSealer(suite, secret);
  }

  /** Keys to receive with, once TLS has them. */
  installRead(suite: CipherSuite, secret: Uint8Array): void {
    this.#read = new PacketOpener(suite, secret);
    this.#readNext = this.#read.next();
  }

  get canWrite(): boolean {
    return this.#write !== undefined;
  }

  get canRead(): boolean {
    return this.#read !== undefined;
  }

  /** For the header of the next packet to send. */
  get writePhase(): 0 | 1 {
    return this.#writePhase;
  }

  /** Key updates so far, by either side. */
  get updates(): number {
    return this.#updates;
  }

  /**
   * Seals a packet of the current phase: see `PacketSealer.seal`.
   * @throws {TypeError} before `installWrite`.
   */
  seal(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    numberSize: number,
    end: number,
    packetNumber: number,
  ): number {
    if (this.#write === undefined) throw new TypeError('there are no keys to send with');
    if (this.#firstWritten === Infinity) this.#firstWritten = packetNumber;
    return this.#write.seal(bytes, start, numberOffset, numberSize, end, packetNumber);
  }

  /** See `PacketSealer.protectHeaders`. */
  protectHeaders(): void {
    this.#write?.protectHeaders();
  }

  /** See `PacketOpener.prepareMasks`; 0 before `installRead`. */
  prepareMasks(bytes: Uint8Array, numberOffset: number, stride: number, end: number): number {
    return this.#read?.prepareMasks(bytes, numberOffset, stride, end) ?? 0;
  }

  /** See `PacketOpener.unprotect`; -1 before `installRead`, too. */
  unprotect(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    largest: number,
    mask = -1,
  ): number {
    return this.#read?.unprotect(bytes, start, numberOffset, end, largest, mask) ?? -1;
  }

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
  ): OpenResult {
    const current = this.#read;
    const next = this.#readNext;
    if (current === undefined || next === undefined) return 'dropped';
    if (keyPhaseOf(bytes[start] as number) === this.#readPhase) {
      if (!current.open(bytes, start, numberOffset, end, packetNumber)) return this.#reject();
      if (packetNumber < this.#firstRead) this.#firstRead = packetNumber;
      return 'opened';
    }
    if (this.#readPrevious !== undefined && packetNumber < this.#firstRead) {
      const isOpen = this.#readPrevious.open(bytes, start, numberOffset, end, packetNumber);
      return isOpen ? 'opened' : this.#reject();
    }
    if (!next.open(bytes, start, numberOffset, end, packetNumber)) return this.#reject();
    return this.#followUpdate(next, packetNumber, now + KEPT_PROBE_TIMEOUTS * probeTimeout);
  }

  /** A packet of the next phase is authentic: the peer has updated, or has followed our update. */
  #followUpdate(next: PacketOpener, packetNumber: number, discardAt: number): OpenResult {
    const isOurs = this.#writePhase !== this.#readPhase;
    // Nothing was sent since the last update, so the peer cannot have seen it followed (§6.2).
    if (!isOurs && this.#updates > 0 && this.#firstWritten === Infinity) {
      return new QuicError(KEY_UPDATE_ERROR, 'a key update before the last one was acknowledged');
    }
    this.#readPrevious?.[Symbol.dispose]();
    this.#readPrevious = this.#read;
    this.#read = next;
    this.#readNext = next.next();
    this.#readPhase = other(this.#readPhase);
    this.#firstRead = packetNumber;
    this.#discardAt = discardAt;
    if (!isOurs) this.#updateWrite();
    return 'opened';
  }

  #updateWrite(): void {
    const before = this.#write;
    if (before !== undefined) {
      before.protectHeaders();
      this.#write = before.next();
      before[Symbol.dispose]();
    }
    this.#writePhase = other(this.#writePhase);
    this.#firstWritten = Infinity;
    this.#isWriteAcknowledged = false;
    this.#updates++;
  }

  #reject(): OpenResult {
    this.#rejected++;
    const limit = this.#limits.integrity ?? this.#read?.integrityLimit ?? Infinity;
    if (this.#rejected < limit) return 'dropped';
    return new QuicError(AEAD_LIMIT_REACHED, 'too many packets failed authentication');
  }

  /** The handshake is confirmed: updates are allowed from now on (§6.1). */
  onConfirmed(): void {
    this.#confirmed = true;
  }

  /**
   * The peer has acknowledged a packet: once it is one of the current phase, the next update may
   * follow (§6.1).
   */
  onAcknowledged(packetNumber: number): void {
    if (packetNumber >= this.#firstWritten) this.#isWriteAcknowledged = true;
  }

  /**
   * Whether these keys have sealed so many packets that an update should be made with
   * `initiateUpdate`, which the connection calls before it assembles the next packet.
   */
  get updateDue(): boolean {
    const { updateAfter = UPDATE_AFTER } = this.#limits;
    return (this.#write?.sealed ?? 0) >= updateAfter && this.#mayUpdate;
  }

  /** Not before three PTOs after the last update, for which the keys before it are kept (§6.5). */
  get #mayUpdate(): boolean {
    return (
      this.#confirmed &&
      this.#isWriteAcknowledged &&
      this.#readPhase === this.#writePhase &&
      this.#readPrevious === undefined
    );
  }

  /** Changes to the next keys. False when it is not allowed yet. */
  initiateUpdate(): boolean {
    if (!this.#mayUpdate) return false;
    this.#updateWrite();
    return true;
  }

  /** Set when these keys may seal no more packets but a few: close with it (§6.6). */
  get exhausted(): QuicError | undefined {
    const write = this.#write;
    if (write === undefined) return undefined;
    const limit = this.#limits.confidentiality ?? write.confidentialityLimit;
    if (write.sealed < limit - RESERVE) return undefined;
    return new QuicError(AEAD_LIMIT_REACHED, 'the keys have sealed as many packets as they may');
  }

  /** When the keys before the last update are to be discarded, in the time of `now`. */
  nextTimeout(): number | undefined {
    return this.#discardAt;
  }

  onTimeout(now: number): void {
    if (this.#discardAt === undefined || now < this.#discardAt) return;
    this.#discardAt = undefined;
    this.#readPrevious?.[Symbol.dispose]();
    this.#readPrevious = undefined;
  }

  [Symbol.dispose](): void {
    for (const keys of [this.#write, this.#read, this.#readNext, this.#readPrevious]) {
      keys?.[Symbol.dispose]();
    }
    this.#write = this.#read = this.#readNext = this.#readPrevious = undefined;
    this.#discardAt = undefined;
  }
}
