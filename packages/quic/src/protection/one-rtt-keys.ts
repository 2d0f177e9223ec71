import { QuicError, TransportErrorCode } from '../errors.ts';
import { keyPhaseOf } from '../wire/packet-header.ts';
import { PacketOpener, PacketSealer, type CipherSuite } from './packet-keys.ts';

/** The result of opening a packet. `dropped`: it is not authentic, and nothing in it may be used. */
export type OpenResult = 'opened' | 'dropped' | QuicError;

/** Probe timeouts for which the keys before an update are kept (RFC 9001 §6.5). */
const KEPT_PROBE_TIMEOUTS = 3;

/** Packets after which an update is due: half of the number that AES-GCM may seal (§6.6), some 5 GB. */
const UPDATE_AFTER = 2 ** 22;

/** Packets reserved for closing the connection if no update was possible. */
const RESERVE = 16;

/** Usage limits of keys, in packets. */
export interface KeyLimits {
  /** Packets after which an update is due. */
  readonly updateAfter?: number;
  /** The confidentiality limit of keys, and the integrity limit of the connection (§6.6). */
  readonly confidentiality?: number;
  readonly integrity?: number;
}

const { KEY_UPDATE_ERROR, AEAD_LIMIT_REACHED } = TransportErrorCode;

const other = (phase: 0 | 1): 0 | 1 => (phase === 0 ? 1 : 0);

/**
 * The 1-RTT keys of a connection through all key updates (RFC 9001 §6): selects the keys of a packet, discards
 * previous keys, and decides when an update is due.
 *
 * The keys of the next phase are derived when a phase begins, after an authentic packet. They exist before any
 * forged packet arrives, so that the processing time does not reveal the key phase bit (§9.5).
 */
export class OneRttKeys implements Disposable {
  #write: PacketSealer | undefined;
  #writePhase: 0 | 1 = 0;
  /** The first packet number sealed in this phase; Infinity before it. */
  #firstWritten = Infinity;
  #isWriteAcknowledged = false;
  #confirmed = false;

  #read: PacketOpener | undefined;
  #readNext: PacketOpener | undefined;
  #readPrevious: PacketOpener | undefined;
  #readPhase: 0 | 1 = 0;
  /** The lowest packet number opened in this phase: lower numbers with the other phase bit use the previous keys. */
  #firstRead = Infinity;
  #discardAt: number | undefined;
  #rejected = 0;
  readonly #limits: KeyLimits;
  #updates = 0;

  /** @param limits replace those of the suite, for tests. */
  constructor(limits: KeyLimits = {}) {
    this.#limits = limits;
  }

  /** Installs the keys for sending, when TLS has derived them. */
  installWrite(suite: CipherSuite, secret: Uint8Array): void {
    this.#write = new PacketSealer(suite, secret);
  }

  /** Installs the keys for receiving, when TLS has derived them. */
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

  /** The key phase bit of the next packet to send. */
  get writePhase(): 0 | 1 {
    return this.#writePhase;
  }

  /** Number of key updates so far, by either side. */
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

  /** Protects headers; see `PacketSealer.protectHeaders`. */
  protectHeaders(): void {
    this.#write?.protectHeaders();
  }

  /** Computes masks in advance; see `PacketOpener.prepareMasks`; 0 before `installRead`. */
  prepareMasks(bytes: Uint8Array, numberOffset: number, stride: number, end: number): number {
    return this.#read?.prepareMasks(bytes, numberOffset, stride, end) ?? 0;
  }

  /** Removes header protection; see `PacketOpener.unprotect`; also -1 before `installRead`. */
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
   * @param probeTimeout the current PTO in milliseconds: previous keys are kept for three.
   * @returns an error if the peer updates too early (KEY_UPDATE_ERROR), or too many packets failed authentication
   *   (AEAD_LIMIT_REACHED).
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

  /**
   * Follows a key update after an authentic packet of the next phase: the peer has initiated it, or responded to ours.
   */
  #followUpdate(next: PacketOpener, packetNumber: number, discardAt: number): OpenResult {
    const isOurs = this.#writePhase !== this.#readPhase;
    // Nothing was sent since the last update, so the peer has no acknowledgement of it (§6.2).
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

  /** Called when the handshake is confirmed: updates are now allowed (§6.1). */
  onConfirmed(): void {
    this.#confirmed = true;
  }

  /**
   * Called when the peer has acknowledged a packet. An acknowledgement of the current phase allows the next update
   * (§6.1).
   */
  onAcknowledged(packetNumber: number): void {
    if (packetNumber >= this.#firstWritten) this.#isWriteAcknowledged = true;
  }

  /**
   * Whether an update is due because of the number of packets sealed; the connection then calls `initiateUpdate`
   * before it assembles the next packet.
   */
  get updateDue(): boolean {
    const { updateAfter = UPDATE_AFTER } = this.#limits;
    return (this.#write?.sealed ?? 0) >= updateAfter && this.#mayUpdate();
  }

  /** Whether an update is allowed: not within three PTOs of the last one, while the previous keys are kept (§6.5). */
  #mayUpdate(): boolean {
    return (
      this.#confirmed &&
      this.#isWriteAcknowledged &&
      this.#readPhase === this.#writePhase &&
      this.#readPrevious === undefined
    );
  }

  /** Switches to the next keys. Returns false if an update is not allowed yet. */
  initiateUpdate(): boolean {
    if (!this.#mayUpdate()) return false;
    this.#updateWrite();
    return true;
  }

  /** The error with which to close if these keys have reached their confidentiality limit (§6.6). */
  get exhausted(): QuicError | undefined {
    const write = this.#write;
    if (write === undefined) return undefined;
    const limit = this.#limits.confidentiality ?? write.confidentialityLimit;
    if (write.sealed < limit - RESERVE) return undefined;
    return new QuicError(AEAD_LIMIT_REACHED, 'the keys have sealed as many packets as they may');
  }

  /** Returns the time at which to discard the previous keys, in the time of `now`; `undefined` if there are none. */
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
