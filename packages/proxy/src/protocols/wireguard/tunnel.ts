import type { RandomSource } from '@weir/base/random';
import {
  assignEndpoint,
  copyEndpoint,
  type IpEndpoint,
  isSameEndpoint,
  type MutableIpEndpoint,
} from '@weir/base/ip';
import { copyOf } from '@weir/base/bytes';
import { NamedDeadlines } from '@weir/base/timers';
import { Fifo } from '@weir/base/collections';
import {
  ERASE_AFTER_TIME,
  MAX_JITTER,
  PeerLiveness,
  REJECT_AFTER_TIME,
  REKEY_AFTER_TIME,
  REKEY_ON_RECEIPT_TIME,
  TUNNEL_DEADLINES,
} from './deadlines.ts';
import { HandshakeAttempts, Handshakes } from './handshake/handshakes.ts';
import { MessageWriter, TransportSession, TransportSessions } from './transport-session.ts';
import {
  type DropReason,
  type Trace,
  type TunnelEvent,
  type TunnelOptions,
  type TunnelOutput,
  type TunnelSettings,
  type TunnelState,
  TunnelStatus,
} from './contract.ts';
import { MAX_WAITING_PACKET_BYTES, MAX_WAITING_PACKETS, RESOLVE_AFTER_TIME } from './limits.ts';
import {
  DATA_OVERHEAD,
  DataOffset,
  INITIATION_SIZE,
  MessageType,
  messageType,
  readIndex,
} from './wire.ts';

/**
 * A WireGuard tunnel to one peer (whitepaper §5 and §6), as initiator and as responder: datagrams and packets
 * in, datagrams and packets out. No datagram makes it throw.
 *
 * After a batch of calls, the driver calls `transmit`, then `nextEvent` until there is none, then `nextTimeout`.
 */
export class Tunnel {
  readonly #random: RandomSource;
  readonly #trace: Trace | undefined;
  readonly #endpoint: MutableIpEndpoint;
  readonly #handshakes: Handshakes;
  readonly #sessions = new TransportSessions();
  readonly #deadlines = new NamedDeadlines(TUNNEL_DEADLINES);
  readonly #liveness = new PeerLiveness(this.#deadlines);
  readonly #attempts = new HandshakeAttempts(this.#deadlines);
  readonly #waiting = new WaitingPackets();
  readonly #status = new TunnelStatus();
  readonly #writer: MessageWriter;
  /** `dropped` when packets could last be sent with new keys. */
  #droppedBefore = 0;

  constructor(options: TunnelOptions) {
    this.#random = options.random;
    this.#trace = options.trace;
    this.#endpoint = copyEndpoint(options.endpoint);
    this.#handshakes = new Handshakes({
      ...options,
      isTaken: (index) => this.#sessions.find(index) !== undefined,
    });
    this.#writer = new MessageWriter(options.settings);
    // A peer that reaches this side only through the tunnel can do so from the start.
    this.#liveness.setPersistent(options.settings.keepalive, options.now);
  }

  get state(): TunnelState {
    return this.#status.state;
  }

  /** The peer's address: the source of the last authentic message. The object changes in place. */
  get endpoint(): IpEndpoint {
    return this.#endpoint;
  }

  /** Time at which the last authentic message was received; -Infinity for never. */
  get receivedAt(): number {
    return this.#liveness.receivedAt;
  }

  /** Number of packets that were dropped while they were queued for a handshake. */
  get dropped(): number {
    return this.#waiting.dropped;
  }

  setSettings(settings: TunnelSettings, now: number): void {
    this.#writer.settings = settings;
    this.#liveness.setPersistent(settings.keepalive, now);
  }

  nextEvent(): TunnelEvent | undefined {
    return this.#status.nextEvent();
  }

  /**
   * Receives the datagram at `start` to `end` of `bytes`, which is decrypted in place.
   *
   * @returns the size of the packet at `start + DataOffset.packet`, padding included; 0 for none.
   */
  receive(bytes: Uint8Array, start: number, end: number, from: IpEndpoint, now: number): number {
    if (this.#status.state === 'closed') return 0;
    // The reserved bytes are ignored: some servers put an identification into them.
    if (end - start >= DATA_OVERHEAD) bytes[start + 1] = bytes[start + 2] = bytes[start + 3] = 0;
    const type = messageType(bytes, start, end);
    if (type === MessageType.DATA) return this.#onData(bytes, start, end, from, now);
    let reason: DropReason | undefined = 'message';
    if (type !== undefined) reason = this.#onHandshake(type, copyOf(bytes, start, end), from, now);
    if (reason !== undefined) this.#drop(reason, end - start, now);
    return 0;
  }

  /**
   * Sends the packet at `at + DataOffset.packet` of `bytes`: encrypts it in place if there is a session, otherwise
   * queues it and begins a handshake. The `datagramSize` bytes from `at` may be overwritten.
   *
   * @param length the length of the packet.
   * @returns the size of the datagram at `at`, to be sent to `endpoint`; 0 for none.
   */
  send(bytes: Uint8Array, at: number, length: number, now: number): number {
    if (this.#status.state === 'closed') return 0;
    const session = this.#usable(now);
    if (session !== undefined) return this.#seal(session, bytes, at, length, now);
    const start = at + DataOffset.packet;
    this.#waiting.push(copyOf(bytes, start, start + length));
    this.#wantHandshake(now);
    return 0;
  }

  /** Writes due messages, as far as there is room: handshake messages, queued packets, keep-alives. */
  transmit(now: number, out: TunnelOutput): void {
    if (this.#status.state === 'closed' || !this.#sendPending(now, out)) return;
    // The initiation is last: a packet that is sent may make it due.
    if (this.#sendWaiting(now, out)) this.#initiate(now, out);
  }

  /** Returns the time at which `onTimeout`, and then `transmit`, must be called; Infinity for never. */
  nextTimeout(): number {
    return this.#deadlines.next;
  }

  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    if (deadlines.take('erase', now)) this.#erase(now);
    if (deadlines.take('silence', now)) this.#wantHandshake(now);
    this.#liveness.onTimeout(now);
  }

  /** Starts a new handshake if the peer has been silent since `since` and packets are unanswered. */
  retryHandshake(since: number, now: number): void {
    if (this.#status.state === 'closed' || this.#liveness.receivedAt >= since) return;
    if (this.#liveness.isUnanswered) this.#wantHandshake(now);
  }

  /** Sends to a new address from now on, initiations in progress at once. */
  moveTo(endpoint: IpEndpoint, now: number): void {
    if (this.#status.state === 'closed') return;
    assignEndpoint(this.#endpoint, endpoint);
    this.#attempts.restart(now);
  }

  /** Erases all keys. Idempotent. */
  close(): void {
    this.#status.enter('closed');
    this.#deadlines.clearAll();
    this.#sessions.clear();
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
    if (!(session instanceof TransportSession)) return session;
    this.#trace?.({ kind: 'received', what: 'initiation' }, now);
    this.#onAuthentic(from, now);
    this.#sessions.addResponded(session);
    this.#onSession(session, now);
    return undefined;
  }

  #onResponse(message: Uint8Array, from: IpEndpoint, now: number): DropReason | undefined {
    const session = this.#handshakes.onResponse(message, from, now);
    if (!(session instanceof TransportSession)) return session;
    this.#trace?.({ kind: 'received', what: 'response' }, now);
    this.#onAuthentic(from, now);
    this.#sessions.addInitiated(session);
    this.#onSession(session, now);
    this.#onUsable(now);
    // A responder sends no data before it has received some, which confirms the keys.
    this.#liveness.requireKeepalive();
    return undefined;
  }

  #onCookieReply(message: Uint8Array, now: number): DropReason | undefined {
    const failure = this.#handshakes.onCookieReply(message, this.#sessions.next?.index, now);
    if (failure === undefined) this.#trace?.({ kind: 'received', what: 'cookie reply' }, now);
    return failure;
  }

  #onData(bytes: Uint8Array, start: number, end: number, from: IpEndpoint, now: number): number {
    const session = this.#sessions.find(readIndex(bytes, start + DataOffset.receiver));
    if (session === undefined) return this.#drop('index', end - start, now);
    const age = now - session.createdAt;
    if (age >= REJECT_AFTER_TIME) return this.#drop('expired', end - start, now);
    const failure = session.open(bytes, start, end);
    if (failure !== undefined) return this.#drop(failure, end - start, now);
    this.#onAuthentic(from, now);
    if (this.#sessions.confirm(session)) this.#onUsable(now);
    const isLate = session.isInitiator && age >= REKEY_ON_RECEIPT_TIME;
    // Once: the attempts last longer than the rest of the session.
    if (isLate && session === this.#sessions.current) this.#wantHandshake(now);
    const length = end - start - DATA_OVERHEAD;
    this.#liveness.onPacketReceived(length, now);
    return length;
  }

  /** Called when an authentic message was received. */
  #onAuthentic(from: IpEndpoint, now: number): void {
    this.#liveness.onReceived(now);
    // The session may still be valid although the attempts to replace it have failed.
    if (this.#status.state === 'silent' && this.#usable(now)) this.#status.enter('established');
    if (isSameEndpoint(from, this.#endpoint)) return;
    assignEndpoint(this.#endpoint, from);
    this.#status.notify('moved');
  }

  /** Called when a handshake has succeeded; only the initiator can send with its keys yet. */
  #onSession({ isInitiator }: TransportSession, now: number): void {
    this.#deadlines.set('erase', now + ERASE_AFTER_TIME);
    this.#trace?.({ kind: 'session', role: isInitiator ? 'initiator' : 'responder' }, now);
  }

  /** Called when packets can be sent with new keys. */
  #onUsable(now: number): void {
    this.#attempts.end();
    this.#status.enter('established');
    const isRestored = this.#liveness.onUsable(now);
    if (isRestored || this.dropped > this.#droppedBefore) this.#status.notify('restored');
    this.#droppedBefore = this.dropped;
  }

  // Sending.

  /** Returns the session to send with; `undefined` when there is none, or it is too old or worn out. */
  #usable(now: number): TransportSession | undefined {
    const { current } = this.#sessions;
    if (current === undefined || current.isSpent) return undefined;
    return now - current.createdAt < REJECT_AFTER_TIME ? current : undefined;
  }

  #seal(
    session: TransportSession,
    bytes: Uint8Array,
    at: number,
    length: number,
    now: number,
  ): number {
    const size = this.#writer.seal(session, bytes, at, length);
    this.#liveness.onSent(now);
    if (length > 0) this.#liveness.onPacketSent(now, this.#jitter);
    const isOld = session.isInitiator && now - session.createdAt >= REKEY_AFTER_TIME;
    if (isOld || session.isWorn) this.#wantHandshake(now);
    return size;
  }

  /**
   * Sends a copy of a packet.
   * @returns false when there is no room.
   */
  #sendCopy(
    session: TransportSession,
    packet: Uint8Array,
    now: number,
    out: TunnelOutput,
  ): boolean {
    const at = this.#writer.place(packet, out);
    if (at < 0) return false;
    out.commit(this.#seal(session, out.buffer, at, packet.length, now), this.#endpoint);
    return true;
  }

  /** Sends queued packets, otherwise a keep-alive that is due. @returns false when there is no room. */
  #sendWaiting(now: number, out: TunnelOutput): boolean {
    const session = this.#usable(now);
    const liveness = this.#liveness;
    if (session === undefined) {
      // A keep-alive needs a session, as any other packet.
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
    if (!this.#sendCopy(session, EMPTY, now, out)) return false;
    liveness.dropKeepalive();
    this.#trace?.({ kind: 'sent', what: 'keepalive' }, now);
    return true;
  }

  /**
   * Sends pending handshake messages.
   * @returns false when there is no room.
   */
  #sendPending(now: number, out: TunnelOutput): boolean {
    const handshakes = this.#handshakes;
    for (let next = handshakes.peek(); next; next = handshakes.peek()) {
      const { message, destination, what } = next;
      if (!this.#writer.write(message, destination, out)) return false;
      handshakes.shift();
      if (what === 'response') this.#liveness.onSent(now);
      this.#trace?.({ kind: 'sent', what }, now);
    }
    return true;
  }

  // Handshakes of this side.

  /** Begins attempts of a handshake, unless some are in progress. */
  #wantHandshake(now: number): void {
    if (this.#attempts.begin(now) && this.#usable(now) === undefined)
      this.#status.enter('connecting');
  }

  /** Sends an initiation when one is due, or gives up. */
  #initiate(now: number, out: TunnelOutput): void {
    if (!this.#attempts.isDue(now)) return;
    if (this.#attempts.isExhausted(now)) {
      this.#giveUp(now);
      return;
    }
    // Each initiation replaces the previous handshake, so none is created without room for it.
    if (out.reserve(INITIATION_SIZE) < 0) return;
    this.#writer.write(this.#handshakes.initiation(now), this.#endpoint, out);
    this.#attempts.onSent(now, this.#jitter());
    this.#liveness.onSent(now);
    this.#trace?.({ kind: 'sent', what: 'initiation' }, now);
    if (this.#attempts.ageAt(now) >= RESOLVE_AFTER_TIME) this.#status.notify('unanswered');
  }

  /** Gives up a handshake: the peer does not respond. */
  #giveUp(now: number): void {
    this.#attempts.end();
    this.#liveness.onGivenUp();
    this.#handshakes.abandon();
    this.#waiting.clear();
    if (!this.#deadlines.isSet('erase')) this.#deadlines.set('erase', now + ERASE_AFTER_TIME);
    this.#status.enter('silent');
  }

  /** Erases the keys of all sessions and handshakes (§6.3). */
  #erase(now: number): void {
    this.#sessions.clear();
    this.#handshakes.abandon();
    this.#trace?.({ kind: 'erased' }, now);
  }

  readonly #jitter = (): number => this.#random.below(MAX_JITTER);

  #drop(reason: DropReason, bytes: number, now: number): 0 {
    this.#trace?.({ kind: 'dropped', reason, bytes }, now);
    return 0;
  }
}

const EMPTY = new Uint8Array(0);

/** Packets queued for a session: when the queue is full the oldest is dropped. */
class WaitingPackets {
  readonly #packets = new Fifo<Uint8Array>();
  #bytes = 0;
  #dropped = 0;

  /** Number of packets that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Queues a packet.
   * @param packet in memory of its own.
   */
  push(packet: Uint8Array): void {
    this.#packets.push(packet);
    this.#bytes += packet.length;
    while (this.#packets.size > MAX_WAITING_PACKETS || this.#bytes > MAX_WAITING_PACKET_BYTES) {
      this.shift();
      this.#dropped++;
    }
  }

  peek(): Uint8Array | undefined {
    return this.#packets.peek();
  }

  shift(): void {
    this.#bytes -= this.#packets.shift()?.length ?? 0;
  }

  /** Drops all packets. */
  clear(): void {
    this.#dropped += this.#packets.size;
    this.#packets.clear();
    this.#bytes = 0;
  }
}
