import { createOpener, TAG_LENGTH, type Opener } from '@weir/crypto/aead';
import { ReplayWindow } from '@weir/crypto/replay';
import type { Packet } from '@weir/io/links';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import {
  hasSeparateHeader,
  LONG_NONCE,
  readMessage,
  SESSION_HEADER,
  SESSION_ID,
  type MessageContext,
} from './datagrams.ts';
import { stampOf } from './wire.ts';
import type { Clock } from '@weir/io/time';
import { StampedEntries } from '../salts.ts';

/** Packets that may arrive late, counted back from the newest of their session. */
export const REPLAY_WINDOW = 2048;

/** Opens the bodies of a session; the construction with XChaCha20 uses the key itself. */
export const sessionOpener = (method: Method, key: Uint8Array, session: Uint8Array): Opener =>
  hasSeparateHeader(method)
    ? createOpener(method.aead, subkeyOf(method, key, session))
    : createOpener('xchacha20-poly1305', key);

/**
 * Opens a datagram without a separate header to a new buffer: session header, then message.
 * `undefined` when it is not authentic.
 */
export function openMerged(opener: Opener, datagram: Uint8Array): Buffer | undefined {
  if (datagram.length < LONG_NONCE) return undefined;
  const nonce = datagram.subarray(0, LONG_NONCE);
  const plain = openBody(opener, nonce, datagram.subarray(LONG_NONCE));
  return plain && plain.length >= SESSION_HEADER ? plain : undefined;
}

/** Opens a body to a new buffer; `undefined` when it is not authentic. */
function openBody(opener: Opener, nonce: Uint8Array, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < TAG_LENGTH) return undefined;
  const plain = Buffer.allocUnsafe(sealed.length - TAG_LENGTH);
  return opener.open(nonce, sealed, plain) ? plain : undefined;
}

/** Returns the id of a packet; `undefined` beyond the safe integers, which no session reaches. */
function packetIdOf(header: Buffer): number | undefined {
  const high = header.readUInt32BE(SESSION_ID);
  return high > 0x1f_ffff ? undefined : high * 2 ** 32 + header.readUInt32BE(SESSION_ID + 4);
}

/** State of a session from before its first packet is received, or received again. */
interface SessionPast {
  readonly past?: EndedSession | undefined;
  readonly after?: number;
}

/** A session of the peer: accepts each of its packets once (SIP022 §3.2.4). */
export class ReceivingSession implements Disposable {
  readonly #opener: Opener;
  readonly #ownsOpener: boolean;
  readonly #window: ReplayWindow;
  readonly #after: number;
  #latest: number;

  /**
   * @param id the session's id.
   * @param shared the opener of all sessions, if they have no key of their own.
   * @param past for a continued session its past.
   * @param after for a new session the timestamp, in Unix seconds, that its packets must exceed.
   */
  constructor(
    method: Method,
    key: Uint8Array,
    id: Uint8Array,
    shared: Opener | undefined,
    { past, after = -Infinity }: SessionPast = {},
  ) {
    this.#opener = shared ?? sessionOpener(method, key, id);
    this.#ownsOpener = shared === undefined;
    this.#window = past?.window ?? new ReplayWindow(REPLAY_WINDOW);
    this.#latest = past?.latest ?? -Infinity;
    this.#after = past ? -Infinity : after;
  }

  /** The past of the session: the replay window of its packets. */
  get past(): EndedSession {
    return { window: this.#window, latest: this.#latest };
  }

  /**
   * Returns the packet of a datagram with a separate header; `undefined` when it is not authentic, invalid or a replay.
   *
   * @param header session id and packet id, decrypted.
   */
  openSeparate(header: Buffer, sealed: Uint8Array, context: MessageContext): Packet | undefined {
    const id = this.#newPacketId(header);
    if (id === undefined) return undefined;
    const body = openBody(this.#opener, header.subarray(4), sealed);
    return body && this.#accept(id, body, 0, context);
  }

  /** Returns the packet of a datagram that `openMerged` has opened; `undefined` when it is invalid or a replay. */
  readMerged(plain: Buffer, context: MessageContext): Packet | undefined {
    const id = this.#newPacketId(plain);
    return id === undefined ? undefined : this.#accept(id, plain, SESSION_HEADER, context);
  }

  /** Returns the id of a packet that was not received before; otherwise `undefined`. */
  #newPacketId(header: Buffer): number | undefined {
    const id = packetIdOf(header);
    return id !== undefined && this.#window.isNew(id) ? id : undefined;
  }

  #accept(id: number, body: Buffer, at: number, context: MessageContext): Packet | undefined {
    const packet = readMessage(body, at, context);
    if (!packet) return undefined;
    const stamp = stampOf(body, at);
    if (stamp <= this.#after) return undefined;
    this.#latest = Math.max(this.#latest, stamp);
    this.#window.mark(id);
    return packet;
  }

  [Symbol.dispose](): void {
    if (this.#ownsOpener) this.#opener[Symbol.dispose]();
  }
}

/** Sessions that are remembered, some 8 MB; beyond this number the oldest is forgotten early. */
const MOST_ENDED = 16_384;

/** The remainder of an ended session: the replay window of its packets. */
interface EndedSession {
  readonly window: ReplayWindow;
  /** The greatest timestamp of the session's packets, in Unix seconds. */
  readonly latest: number;
}

/**
 * Ended sessions of clients: an association that was idle, blocked or killed ends before its packets become invalid,
 * and none of them may be accepted again. A client may continue its session.
 */
export class EndedSessions {
  readonly #most: number;
  readonly #kept: StampedEntries<EndedSession>;

  constructor(clock: Clock, most = MOST_ENDED) {
    this.#most = most;
    this.#kept = new StampedEntries(clock);
  }

  /** The greatest timestamp of a packet whose session has been forgotten: packets of new sessions must be later. */
  get forgotten(): number {
    this.#kept.forgetOld(this.#most);
    return this.#kept.forgotten;
  }

  /** @param key the user's key and the session id */
  keep(key: string, session: EndedSession): void {
    this.#kept.set(key, session, session.latest);
    this.#kept.forgetOld(this.#most);
  }

  /** Returns the session of a key, unless it has been forgotten. The session stays until `resume`. */
  find(key: string): EndedSession | undefined {
    this.#kept.forgetOld(this.#most);
    return this.#kept.get(key);
  }

  /** Removes a session that continues. */
  resume(key: string): void {
    this.#kept.delete(key);
  }
}
