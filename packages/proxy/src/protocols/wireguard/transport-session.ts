import {
  packetCiphers,
  type PacketOpening,
  type PacketSealing,
} from '@weir/crypto/aead/packet-ciphers';
import type { IpEndpoint } from '@weir/base/ip';
import { ReplayWindow } from '@weir/crypto/replay';
import type { TunnelOutput, TunnelSettings } from './contract.ts';
import { REJECT_AFTER_MESSAGES, REKEY_AFTER_MESSAGES } from './deadlines.ts';
import { REPLAY_WINDOW } from './limits.ts';
import type { SessionKeys } from './handshake/noise.ts';
import {
  datagramSize,
  DataOffset,
  MessageType,
  paddedLength,
  readCounter,
  TAG_SIZE,
  writeCounter,
  writeIndex,
} from './wire.ts';

/** Numbers of messages after which a session is replaced, and after which it is not used any more. */
export interface MessageLimits {
  readonly rekeyAfter: number;
  readonly rejectAfter: number;
}

const LIMITS: MessageLimits = {
  rekeyAfter: REKEY_AFTER_MESSAGES,
  rejectAfter: REJECT_AFTER_MESSAGES,
};

/** The origin of a session. */
export interface SessionOrigin {
  readonly index: number;
  readonly peerIndex: number;
  readonly isInitiator: boolean;
  /** Time at which the handshake of the session was completed, in milliseconds. */
  readonly createdAt: number;
}

/** The reason why a message was not opened. */
export type OpenFailure = 'counter' | 'replay' | 'authentication';

/** A session: the keys of both directions with their counters. Dispose of it when it is replaced. */
export class TransportSession implements Disposable {
  readonly index: number;
  readonly peerIndex: number;
  readonly isInitiator: boolean;
  readonly createdAt: number;
  readonly #sealing: PacketSealing;
  readonly #opening: PacketOpening;
  readonly #limits: MessageLimits;
  readonly #window = new ReplayWindow(REPLAY_WINDOW);
  #sent = 0;

  /** @param keys overwritten: the ciphers have copies. */
  constructor(keys: SessionKeys, origin: SessionOrigin, limits: MessageLimits = LIMITS) {
    this.index = origin.index;
    this.peerIndex = origin.peerIndex;
    this.isInitiator = origin.isInitiator;
    this.createdAt = origin.createdAt;
    const ciphers = packetCiphers();
    this.#sealing = ciphers.sealing('chacha20-poly1305', keys.sending);
    this.#opening = ciphers.opening('chacha20-poly1305', keys.receiving);
    keys.sending.fill(0);
    keys.receiving.fill(0);
    this.#limits = limits;
  }

  /** Whether another session should replace this one, because of the number of messages sent. */
  get isWorn(): boolean {
    return this.#sent > this.#limits.rekeyAfter;
  }

  /** Whether no message may be sent any more. */
  get isSpent(): boolean {
    return this.#sent >= this.#limits.rejectAfter;
  }

  /**
   * Seals the packet at `at + DataOffset.packet` in place. Not for a session that is spent.
   *
   * @param length the length of the packet with its padding; there must be room for the tag after it.
   * @returns the bytes of the message, which begins at `at`.
   */
  seal(bytes: Uint8Array, at: number, length: number): number {
    const counter = this.#sent++;
    bytes[at] = MessageType.DATA;
    bytes[at + 1] = bytes[at + 2] = bytes[at + 3] = 0;
    writeIndex(bytes, at + DataOffset.receiver, this.peerIndex);
    writeCounter(bytes, at + DataOffset.counter, counter);
    setNonce(this.#sealing.nonce, counter);
    const start = at + DataOffset.packet;
    this.#sealing.seal(bytes, start, start, start + length);
    return DataOffset.packet + length + TAG_SIZE;
  }

  /**
   * Opens the message from `start` to `end` in place: its packet is at `start + DataOffset.packet`.
   * @returns the reason of a failure; `undefined` for success.
   */
  open(bytes: Uint8Array, start: number, end: number): OpenFailure | undefined {
    const counter = readCounter(bytes, start + DataOffset.counter);
    if (!(counter < this.#limits.rejectAfter)) return 'counter';
    if (!this.#window.isNew(counter)) return 'replay';
    const opening = this.#opening;
    setNonce(opening.nonce, counter);
    const at = start + DataOffset.packet;
    if (!opening.open(bytes, at, at, end)) return 'authentication';
    this.#window.mark(counter);
    return undefined;
  }

  /** Releases the ciphers; OpenSSL overwrites its keys. */
  [Symbol.dispose](): void {
    this.#sealing[Symbol.dispose]();
    this.#opening[Symbol.dispose]();
  }
}

/**
 * Writes the nonce: four zeros and the counter (whitepaper §5.4.6). All bytes are written: the ciphers share this
 * memory.
 */
function setNonce(nonce: Uint8Array, counter: number): void {
  nonce[0] = nonce[1] = nonce[2] = nonce[3] = 0;
  writeCounter(nonce, 4, counter);
}

/**
 * The sessions of a tunnel (whitepaper §5.4.6 and §6.1): a session is replaced while packets of the previous one
 * are still in flight.
 */
export class TransportSessions {
  /** The session that packets are sent with. */
  #current: TransportSession | undefined;
  /** The session before the current one: its packets are still accepted. */
  #previous: TransportSession | undefined;
  /** The responder's newest session, until a packet of the initiator confirms that it has the keys. */
  #next: TransportSession | undefined;

  get current(): TransportSession | undefined {
    return this.#current;
  }

  get next(): TransportSession | undefined {
    return this.#next;
  }

  /** Returns the session with an index of this side. */
  find(index: number): TransportSession | undefined {
    if (this.#current?.index === index) return this.#current;
    if (this.#next?.index === index) return this.#next;
    if (this.#previous?.index === index) return this.#previous;
    return undefined;
  }

  /** Adds the session of a completed handshake of this side, which is used at once. */
  addInitiated(session: TransportSession): void {
    this.#previous?.[Symbol.dispose]();
    if (this.#next) this.#current?.[Symbol.dispose]();
    // The peer may already send with `next`, so that session is the one to keep.
    this.#previous = this.#next ?? this.#current;
    this.#next = undefined;
    this.#current = session;
  }

  /** Adds the session of a handshake of the peer that was responded to. */
  addResponded(session: TransportSession): void {
    this.#next?.[Symbol.dispose]();
    this.#previous?.[Symbol.dispose]();
    this.#previous = undefined;
    this.#next = session;
  }

  /** Called when a packet was received with a session. @returns whether that confirms the newest session. */
  confirm(session: TransportSession): boolean {
    if (session !== this.#next) return false;
    this.#previous?.[Symbol.dispose]();
    this.#previous = this.#current;
    this.#current = session;
    this.#next = undefined;
    return true;
  }

  /** Erases all keys. */
  clear(): void {
    for (const session of [this.#current, this.#previous, this.#next]) session?.[Symbol.dispose]();
    this.#current = undefined;
    this.#previous = undefined;
    this.#next = undefined;
  }
}

/** Writes messages as configured: with padding up to the MTU, and the reserved bytes. */
export class MessageWriter {
  settings: TunnelSettings;

  constructor(settings: TunnelSettings) {
    this.settings = settings;
  }

  /** Copies a handshake message to `out`. @returns false when there is no room. */
  write(message: Uint8Array, destination: IpEndpoint, out: TunnelOutput): boolean {
    const at = out.reserve(message.length);
    if (at < 0) return false;
    out.buffer.set(message, at);
    this.#writeReserved(out.buffer, at);
    out.commit(message.length, destination);
    return true;
  }

  /** Copies a packet to `out`, to be sealed there. @returns the offset of its datagram; -1 when there is no room. */
  place(packet: Uint8Array, out: TunnelOutput): number {
    const at = out.reserve(datagramSize(packet.length, this.settings.mtu));
    if (at >= 0) out.buffer.set(packet, at + DataOffset.packet);
    return at;
  }

  /** Pads and seals the packet of `length` bytes at `at + DataOffset.packet`. @returns the bytes of the datagram. */
  seal(session: TransportSession, bytes: Uint8Array, at: number, length: number): number {
    const padded = paddedLength(length, this.settings.mtu);
    const end = at + DataOffset.packet + length;
    if (padded > length) bytes.fill(0, end, end + padded - length);
    const size = session.seal(bytes, at, padded);
    this.#writeReserved(bytes, at);
    return size;
  }

  #writeReserved(bytes: Uint8Array, at: number): void {
    const { reserved } = this.settings;
    if (reserved === undefined) return;
    bytes[at + 1] = reserved[0];
    bytes[at + 2] = reserved[1];
    bytes[at + 3] = reserved[2];
  }
}
