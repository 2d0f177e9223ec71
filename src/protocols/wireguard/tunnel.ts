import type { RandomSource } from '../../crypto/random-source.ts';
import {
  assignEndpoint,
  copyEndpoint,
  isSameEndpoint,
  type IpEndpoint,
  type MutableIpEndpoint,
} from '../../ip/ip-endpoint.ts';
import { copyOf } from '../../collections/copy-bytes.ts';
import { NamedDeadlines } from '../../collections/named-deadlines.ts';
import {
  ERASE_AFTER_TIME,
  MAX_JITTER,
  REJECT_AFTER_TIME,
  REKEY_AFTER_TIME,
  REKEY_ATTEMPT_TIME,
  REKEY_ON_RECEIPT_TIME,
  REKEY_TIMEOUT,
  TUNNEL_DEADLINES,
} from './deadlines.ts';
import { Handshakes } from './handshake/handshakes.ts';
import { KeyPairs } from './key-pairs.ts';
import { Liveness } from './liveness.ts';
import type { StaticKeys } from './handshake/noise.ts';
import { Session } from './session.ts';
import type { Reserved } from './settings.ts';
import type { DropReason, Trace, TraceEvent } from './trace.ts';
import { WaitingPackets } from './waiting-packets.ts';
import {
  Data,
  DATA_OVERHEAD,
  Initiation,
  MessageType,
  messageType,
  PADDING,
  readIndex,
} from './wire.ts';

/** Where datagrams are written. */
export interface TunnelOutput {
  /** May be another one after each `reserve`. */
  readonly buffer: Uint8Array;
  /** Where a datagram of at most so many bytes is to begin; -1 when there is no room at present. */
  reserve(bytes: number): number;
  /** It is complete. */
  commit(length: number, destination: IpEndpoint): void;
}

/**
 * - `unused`: nothing was sent yet
 * - `connecting`: packets wait for a handshake
 * - `established`: there was a session, and no handshake has failed since
 * - `silent`: the peer has not responded for `REKEY_ATTEMPT_TIME`; the next packet begins another handshake
 * - `closed`: nothing is sent or received any more
 */
export type TunnelState = 'unused' | 'connecting' | 'established' | 'silent' | 'closed';

/** What happened; each is reported once until it is taken. */
export type TunnelEvent =
  | 'established'
  | 'silent'
  /** There is a new session after a time in which packets had no answer, or found no room to wait. */
  | 'restored'
  /** The peer's packets come from another address. */
  | 'moved';

/** What may change while a tunnel runs. */
export interface TunnelSettings {
  /** Bytes of the largest packet inside the tunnel: padding does not exceed it. */
  readonly mtu: number;
  /** Milliseconds between packets for those that keep track of the path; 0 for none. */
  readonly keepalive: number;
  readonly reserved: Reserved | undefined;
}

export interface TunnelOptions {
  readonly staticKeys: StaticKeys;
  /** Where the first message is sent to. */
  readonly endpoint: IpEndpoint;
  readonly settings: TunnelSettings;
  readonly random: RandomSource;
  /** The time as TAI64N, later than all times before that it has returned for these keys. */
  readonly timestamp: () => Uint8Array;
  readonly now: number;
  readonly trace?: Trace | undefined;
}

/**
 * A WireGuard tunnel to one peer (whitepaper §5 and §6), in both roles: datagrams and packets in, datagrams
 * and packets out. No datagram makes it throw.
 *
 * After every call: `nextEvent` until there is none, `transmit`, then `nextTimeout`.
 */
export class Tunnel {
  readonly #random: RandomSource;
  readonly #trace: Trace | undefined;
  readonly #endpoint: MutableIpEndpoint;
  readonly #handshakes: Handshakes;
  readonly #keyPairs = new KeyPairs();
  readonly #deadlines = new NamedDeadlines(TUNNEL_DEADLINES);
  readonly #liveness = new Liveness(this.#deadlines);
  readonly #waiting = new WaitingPackets();
  readonly #events: TunnelEvent[] = [];
  #settings: TunnelSettings;
  #state: TunnelState = 'unused';
  /** When the last initiation was sent, and when the first one of the present attempts. */
  #initiatedAt = -Infinity;
  #attemptsSince = -Infinity;
  /** Packets that had been dropped when the last session began. */
  #droppedBefore = 0;
  /** Whether receiving has begun to replace the current session: once is enough. */
  #isReplacedOnReceipt = false;

  constructor(options: TunnelOptions) {
    this.#random = options.random;
    this.#trace = options.trace;
    this.#endpoint = copyEndpoint(options.endpoint);
    this.#handshakes = new Handshakes({
      ...options,
      isTaken: (index) => this.#keyPairs.find(index) !== undefined,
    });
    this.#settings = options.settings;
    // A peer behind nothing but this tunnel is reachable from the start.
    this.#liveness.setPersistent(options.settings.keepalive, options.now);
  }

  get state(): TunnelState {
    return this.#state;
  }

  /** Where messages are sent to: where the newest authentic one came from. Changes in place. */
  get endpoint(): IpEndpoint {
    return this.#endpoint;
  }

  /** When the last authentic message came; -Infinity for never. */
  get receivedAt(): number {
    return this.#liveness.receivedAt;
  }

  /** Packets that waited for a handshake and were dropped. */
  get dropped(): number {
    return this.#waiting.dropped;
  }

  setSettings(settings: TunnelSettings, now: number): void {
    this.#settings = settings;
    this.#liveness.setPersistent(settings.keepalive, now);
  }

  nextEvent(): TunnelEvent | undefined {
    return this.#events.shift();
  }

  /**
   * Takes a datagram, which is opened in place.
   *
   * @param start where it begins in `bytes`,
   * @param end and where it ends.
   * @returns the bytes of the packet in it, which begins `Data.packet` behind `start`, padding included; 0
   *   for none.
   */
  receive(bytes: Uint8Array, start: number, end: number, from: IpEndpoint, now: number): number {
    if (this.#state === 'closed') return 0;
    // Whatever is there: some servers put an identification of theirs into it.
    if (end - start >= DATA_OVERHEAD) bytes[start + 1] = bytes[start + 2] = bytes[start + 3] = 0;
    const type = messageType(bytes, start, end);
    if (type === MessageType.DATA) return this.#onData(bytes, start, end, from, now);
    let reason: DropReason | undefined = 'message';
    if (type !== undefined) reason = this.#onHandshake(type, copyOf(bytes, start, end), from, now);
    if (reason !== undefined) this.#drop(reason, end - start, now);
    return 0;
  }

  /**
   * Sends a packet, in place where there is a session. Otherwise it waits for the handshake that it begins.
   *
   * @param at where the datagram may begin in `bytes`: the packet begins `Data.packet` behind it.
   * @param length of the packet. What `datagramSize` says may be overwritten.
   * @returns the bytes of the datagram, which is to be sent to `endpoint`; 0 for none.
   */
  send(bytes: Uint8Array, at: number, length: number, now: number): number {
    if (this.#state === 'closed') return 0;
    const session = this.#usable(now);
    if (session !== undefined) return this.#seal(session, bytes, at, length, now);
    const start = at + Data.packet;
    this.#waiting.push(copyOf(bytes, start, start + length));
    this.#wantHandshake(now);
    return 0;
  }

  /** Writes what is due: handshake messages, packets that waited, keep-alives. As far as there is room. */
  transmit(now: number, out: TunnelOutput): void {
    if (this.#state === 'closed' || !this.#sendPending(now, out)) return;
    // The initiation is the last: sending a packet may be what makes it due.
    if (this.#sendWaiting(now, out)) this.#initiate(now, out);
  }

  /** When `onTimeout`, and then `transmit`, are due; Infinity for not at all. */
  nextTimeout(): number {
    return this.#deadlines.next;
  }

  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    if (deadlines.take('erase', now)) this.#erase(now);
    if (deadlines.take('silence', now)) this.#wantHandshake(now);
    this.#liveness.onTimeout(now);
  }

  /** A flow waits in vain: begins a handshake where packets wait for the peer, which has sent none since then. */
  hasten(since: number, now: number): void {
    if (this.#state === 'closed' || this.#liveness.receivedAt >= since) return;
    if (this.#liveness.isUnanswered) this.#wantHandshake(now);
  }

  /** Erases all keys. Idempotent. */
  close(): void {
    this.#enter('closed');
    this.#deadlines.clearAll();
    this.#keyPairs.clear();
    this.#handshakes.close();
    this.#waiting.clear();
  }

  // Receiving.

  #onHandshake(
    type: Exclude<MessageType, typeof MessageType.DATA>,
    message: Uint8Array,
    from: IpEndpoint,
    now: number,
  ): DropReason | undefined {
    switch (type) {
      case MessageType.INITIATION:
        return this.#onInitiation(message, from, now);
      case MessageType.RESPONSE:
        return this.#onResponse(message, from, now);
      case MessageType.COOKIE_REPLY:
        return this.#onCookieReply(message, now);
      default:
        return type satisfies never;
    }
  }

  #onInitiation(message: Uint8Array, from: IpEndpoint, now: number): DropReason | undefined {
    const session = this.#handshakes.onInitiation(message, from, now);
    if (!(session instanceof Session)) return session;
    this.#report({ kind: 'received', what: 'initiation' }, now);
    this.#onAuthentic(from, now);
    this.#keyPairs.addResponded(session);
    this.#onSession(session, now);
    return undefined;
  }

  #onResponse(message: Uint8Array, from: IpEndpoint, now: number): DropReason | undefined {
    const session = this.#handshakes.onResponse(message, from, now);
    if (!(session instanceof Session)) return session;
    this.#report({ kind: 'received', what: 'response' }, now);
    this.#onAuthentic(from, now);
    this.#keyPairs.addInitiated(session);
    this.#onSession(session, now);
    this.#onUsable(now);
    // The peer sends nothing before it has received something.
    this.#liveness.requireKeepalive();
    return undefined;
  }

  #onCookieReply(message: Uint8Array, now: number): DropReason | undefined {
    const failure = this.#handshakes.onCookieReply(message, this.#keyPairs.next?.index, now);
    if (failure === undefined) this.#report({ kind: 'received', what: 'cookie reply' }, now);
    return failure;
  }

  #onData(bytes: Uint8Array, start: number, end: number, from: IpEndpoint, now: number): number {
    const session = this.#keyPairs.find(readIndex(bytes, start + Data.receiver));
    if (session === undefined) return this.#drop('index', end - start, now);
    const age = now - session.createdAt;
    if (age >= REJECT_AFTER_TIME) return this.#drop('expired', end - start, now);
    const failure = session.open(bytes, start, end);
    if (failure !== undefined) return this.#drop(failure, end - start, now);
    this.#onAuthentic(from, now);
    if (this.#keyPairs.confirm(session)) this.#onUsable(now);
    const isLate = session.isInitiator && age >= REKEY_ON_RECEIPT_TIME;
    if (isLate && session === this.#keyPairs.current && !this.#isReplacedOnReceipt) {
      this.#isReplacedOnReceipt = true;
      this.#wantHandshake(now);
    }
    const length = end - start - DATA_OVERHEAD;
    this.#liveness.onPacketReceived(length, now);
    return length;
  }

  /** The peer has shown that it is there, and where. */
  #onAuthentic(from: IpEndpoint, now: number): void {
    this.#liveness.onReceived(now);
    // Its session may have outlived the attempts to replace it.
    if (this.#state === 'silent' && this.#usable(now)) this.#enter('established');
    if (isSameEndpoint(from, this.#endpoint)) return;
    assignEndpoint(this.#endpoint, from);
    this.#notify('moved');
  }

  /** There are new keys. */
  #onSession({ isInitiator }: Session, now: number): void {
    this.#deadlines.set('erase', now + ERASE_AFTER_TIME);
    this.#report({ kind: 'session', role: isInitiator ? 'initiator' : 'responder' }, now);
  }

  /** Packets may be sent with new keys. */
  #onUsable(now: number): void {
    this.#deadlines.clear('initiation');
    this.#isReplacedOnReceipt = false;
    this.#enter('established');
    const isRestored = this.#liveness.onSession(now);
    if (isRestored || this.dropped > this.#droppedBefore) this.#notify('restored');
    this.#droppedBefore = this.dropped;
  }

  // Sending.

  /** The session to send with. */
  #usable(now: number): Session | undefined {
    const { current } = this.#keyPairs;
    if (current === undefined || current.isSpent) return undefined;
    return now - current.createdAt < REJECT_AFTER_TIME ? current : undefined;
  }

  #seal(session: Session, bytes: Uint8Array, at: number, length: number, now: number): number {
    const padded = paddedLength(length, this.#settings.mtu);
    const end = at + Data.packet + length;
    if (padded > length) bytes.fill(0, end, end + padded - length);
    const size = session.seal(bytes, at, padded);
    this.#stamp(bytes, at);
    this.#liveness.onSent(now);
    if (length > 0) this.#liveness.onPacketSent(now, this.#jitter);
    const isOld = session.isInitiator && now - session.createdAt >= REKEY_AFTER_TIME;
    if (isOld || session.isWorn) this.#wantHandshake(now);
    return size;
  }

  /** @returns false when there is no room. */
  #sendCopy(session: Session, packet: Uint8Array, now: number, out: TunnelOutput): boolean {
    const at = out.reserve(datagramSize(packet.length, this.#settings.mtu));
    if (at < 0) return false;
    const { buffer } = out;
    buffer.set(packet, at + Data.packet);
    out.commit(this.#seal(session, buffer, at, packet.length, now), this.#endpoint);
    return true;
  }

  /** Sends packets that waited, or else a keep-alive that is due. @returns false when there is no room. */
  #sendWaiting(now: number, out: TunnelOutput): boolean {
    const session = this.#usable(now);
    const liveness = this.#liveness;
    if (session === undefined) {
      // A keep-alive needs a session as any other packet does.
      if (liveness.isKeepaliveDue) this.#wantHandshake(now);
      liveness.dropKeepalive();
      return true;
    }
    for (let packet = this.#waiting.peek(); packet; packet = this.#waiting.peek()) {
      if (!this.#sendCopy(session, packet, now, out)) return false;
      this.#waiting.shift();
      liveness.dropKeepalive();
    }
    if (!liveness.isKeepaliveDue) return true;
    if (!this.#sendCopy(session, NOTHING, now, out)) return false;
    liveness.dropKeepalive();
    this.#report({ kind: 'sent', what: 'keepalive' }, now);
    return true;
  }

  /** @returns false when there is no room. */
  #sendPending(now: number, out: TunnelOutput): boolean {
    const handshakes = this.#handshakes;
    for (let next = handshakes.peek(); next; next = handshakes.peek()) {
      const { message, destination, what } = next;
      if (!this.#sendMessage(message, destination, out)) return false;
      handshakes.shift();
      if (what === 'response') this.#liveness.onSent(now);
      this.#report({ kind: 'sent', what }, now);
    }
    return true;
  }

  #sendMessage(message: Uint8Array, destination: IpEndpoint, out: TunnelOutput): boolean {
    const at = out.reserve(message.length);
    if (at < 0) return false;
    out.buffer.set(message, at);
    this.#stamp(out.buffer, at);
    out.commit(message.length, destination);
    return true;
  }

  #stamp(bytes: Uint8Array, at: number): void {
    const { reserved } = this.#settings;
    if (reserved === undefined) return;
    bytes[at + 1] = reserved[0];
    bytes[at + 2] = reserved[1];
    bytes[at + 3] = reserved[2];
  }

  // Handshakes of this side.

  /** Begins attempts, unless some are under way. */
  #wantHandshake(now: number): void {
    if (this.#deadlines.isSet('initiation')) return;
    this.#attemptsSince = now;
    this.#deadlines.set('initiation', Math.max(now, this.#initiatedAt + REKEY_TIMEOUT));
    if (this.#usable(now) === undefined) this.#enter('connecting');
  }

  /** Sends an initiation when one is due, or gives up. */
  #initiate(now: number, out: TunnelOutput): void {
    if (!this.#deadlines.isDue('initiation', now)) return;
    if (now - this.#attemptsSince >= REKEY_ATTEMPT_TIME) {
      this.#giveUp(now);
      return;
    }
    const at = out.reserve(Initiation.size);
    if (at < 0) return;
    const message = this.#handshakes.initiation(now);
    out.buffer.set(message, at);
    this.#stamp(out.buffer, at);
    out.commit(message.length, this.#endpoint);
    this.#initiatedAt = now;
    this.#deadlines.set('initiation', now + REKEY_TIMEOUT + this.#jitter());
    this.#liveness.onSent(now);
    this.#report({ kind: 'sent', what: 'initiation' }, now);
  }

  /** The peer does not respond. */
  #giveUp(now: number): void {
    this.#deadlines.clear('initiation');
    this.#liveness.onGivenUp();
    this.#handshakes.abandon();
    this.#waiting.clear();
    if (!this.#deadlines.isSet('erase')) this.#deadlines.set('erase', now + ERASE_AFTER_TIME);
    this.#enter('silent');
  }

  /** Everything secret that changes. */
  #erase(now: number): void {
    this.#keyPairs.clear();
    this.#handshakes.abandon();
    this.#report({ kind: 'erased' }, now);
  }

  readonly #jitter = (): number => this.#random.below(MAX_JITTER);

  #enter(state: TunnelState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    if (state === 'established' || state === 'silent') this.#notify(state);
  }

  #notify(event: TunnelEvent): void {
    if (!this.#events.includes(event)) this.#events.push(event);
  }

  #drop(reason: DropReason, bytes: number, now: number): 0 {
    this.#report({ kind: 'dropped', reason, bytes }, now);
    return 0;
  }

  #report(event: TraceEvent, now: number): void {
    this.#trace?.(event, now);
  }
}

const NOTHING = new Uint8Array(0);

/** Bytes of a packet with its padding (whitepaper §5.4.6), which does not go beyond the MTU. */
const paddedLength = (length: number, mtu: number): number =>
  Math.max(length, Math.min(Math.ceil(length / PADDING) * PADDING, mtu));

/** Bytes of the datagram of a packet of so many bytes. */
export const datagramSize = (length: number, mtu: number): number =>
  paddedLength(length, mtu) + DATA_OVERHEAD;
