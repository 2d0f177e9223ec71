import type { RandomSource } from '@weir/base/random';
import { copyEndpoint, addressText, type IpEndpoint } from '@weir/base/ip';
import { Fifo } from '@weir/base/collections';
import { MacWriter, MacReader } from './cookies.ts';
import {
  INITIATION_INTERVAL,
  MAX_PENDING_MESSAGES,
  COOKIE_REPLIES_A_SECOND,
  HANDSHAKES_A_SECOND,
  MACS_A_SECOND,
  MAX_VALIDATED_SOURCES,
  RESPONSES_A_SECOND,
  VALIDATED_HANDSHAKES_A_SECOND,
} from '../limits.ts';
import { Initiator, Responder, type StaticKeys } from './noise.ts';
import { TransportSession } from '../transport-session.ts';
import type { DropReason } from '../contract.ts';
import { ResponseOffset, CookieReplyOffset, KEY_SIZE, readIndex } from '../wire.ts';
import { RateLimit } from '@weir/io/pace';
import { REKEY_ATTEMPT_TIME, REKEY_TIMEOUT, type TunnelDeadlines } from '../deadlines.ts';

/** The decision about an initiation. Bytes are a cookie reply, which is sent instead of reading the initiation. */
type InitiationDecision = 'read' | 'invalid' | 'limit' | Uint8Array;

/**
 * Decides which initiations are read, which is costly (whitepaper §5.3): all with a valid `mac1` up to a limit; beyond
 * that those with a valid `mac2`, up to a limit for each address.
 */
export class HandshakeLimiter {
  readonly #macs: MacReader;
  readonly #all = new RateLimit(HANDSHAKES_A_SECOND);
  readonly #checks = new RateLimit(MACS_A_SECOND);
  readonly #replies = new RateLimit(COOKIE_REPLIES_A_SECOND);
  readonly #responses = new RateLimit(RESPONSES_A_SECOND);
  /** Limits by address, in the order in which they were added. */
  readonly #validated = new Map<string, RateLimit>();

  /** @param publicKey the public key of this side. */
  constructor(publicKey: Uint8Array, random: RandomSource) {
    this.#macs = new MacReader(publicKey, random);
  }

  decide(initiation: Uint8Array, from: IpEndpoint, now: number): InitiationDecision {
    if (!this.#checks.take(now)) return 'limit';
    const verdict = this.#macs.check(initiation, from, now);
    if (verdict === 'invalid') return 'invalid';
    if (this.#all.take(now)) return 'read';
    if (verdict === 'known address') return this.#limitOf(from).take(now) ? 'read' : 'limit';
    if (!this.#replies.take(now)) return 'limit';
    return this.#macs.reply(initiation, from, now);
  }

  /** Returns why a response with the right index is not read: its `mac1` is invalid, or there were too many. */
  refusal(response: Uint8Array, from: IpEndpoint, now: number): 'mac' | 'limit' | undefined {
    if (!this.#checks.take(now)) return 'limit';
    if (this.#macs.check(response, from, now) === 'invalid') return 'mac';
    return this.#responses.take(now) ? undefined : 'limit';
  }

  #limitOf(from: IpEndpoint): RateLimit {
    const address = addressText(from);
    let limit = this.#validated.get(address);
    if (limit === undefined) {
      const [oldest] = this.#validated.keys();
      if (oldest !== undefined && this.#validated.size >= MAX_VALIDATED_SOURCES) {
        this.#validated.delete(oldest);
      }
      limit = new RateLimit(VALIDATED_HANDSHAKES_A_SECOND);
      this.#validated.set(address, limit);
    }
    return limit;
  }
}

/** A message that answers a handshake message. */
export interface PendingMessage {
  readonly message: Uint8Array;
  readonly destination: IpEndpoint;
  readonly what: 'response' | 'cookie reply';
}

export interface HandshakesOptions {
  readonly staticKeys: StaticKeys;
  readonly random: RandomSource;
  /** Returns the time as TAI64N; see `TunnelOptions`. */
  readonly timestamp: () => Uint8Array;
  /** Returns whether a session has this index. */
  readonly isTaken: (index: number) => boolean;
}

/**
 * The handshakes of a tunnel as initiator and responder (whitepaper §5.4): writes messages, validates received
 * ones, and returns the sessions. The tunnel decides when a handshake begins.
 */
export class Handshakes {
  readonly #staticKeys: StaticKeys;
  readonly #random: RandomSource;
  readonly #timestamp: () => Uint8Array;
  readonly #isTaken: (index: number) => boolean;
  readonly #macs: MacWriter;
  readonly #limiter: HandshakeLimiter;
  readonly #pending = new Fifo<PendingMessage>();
  /** The handshake in progress that this side has initiated. */
  #initiator: Initiator | undefined;
  /** The timestamp of the last accepted initiation, and when it was received. */
  #receivedTimestamp: Uint8Array | undefined;
  #receivedAt = -Infinity;

  constructor({ staticKeys, random, timestamp, isTaken }: HandshakesOptions) {
    this.#staticKeys = staticKeys;
    this.#random = random;
    this.#timestamp = timestamp;
    this.#isTaken = isTaken;
    this.#macs = new MacWriter(staticKeys.peerPublicKey);
    this.#limiter = new HandshakeLimiter(staticKeys.privateKey.publicKey, random);
  }

  /** Returns the next message to send, unchanged until `shift`. */
  peek(): PendingMessage | undefined {
    return this.#pending.peek();
  }

  /** Removes the next message, which was sent. */
  shift(): void {
    this.#pending.shift();
  }

  /** Creates an initiation, which replaces one without a response. */
  initiation(now: number): Uint8Array {
    this.abandon();
    this.#initiator = new Initiator(
      this.#staticKeys,
      this.#newIndex(),
      this.#random.bytes(KEY_SIZE),
    );
    const message = this.#initiator.initiation(this.#timestamp());
    this.#macs.write(message, now);
    return message;
  }

  /** Ends the handshake in progress: no response is accepted any more. */
  abandon(): void {
    this.#initiator?.erase();
    this.#initiator = undefined;
  }

  /**
   * Handles an initiation.
   * @returns the session; the response is then pending.
   */
  onInitiation(message: Uint8Array, from: IpEndpoint, now: number): TransportSession | DropReason {
    const admitted = this.#limiter.decide(message, from, now);
    if (admitted === 'invalid') return 'mac';
    if (admitted === 'limit') return 'limit';
    if (admitted !== 'read') {
      this.#push(admitted, from, 'cookie reply');
      return 'limit';
    }
    const responder = Responder.read(this.#staticKeys, message);
    if (responder === undefined) return 'authentication';
    const { timestamp, peerIndex } = responder;
    const last = this.#receivedTimestamp;
    const isReplay = last !== undefined && Buffer.compare(timestamp, last) <= 0;
    if (isReplay || now - this.#receivedAt < INITIATION_INTERVAL) {
      responder.erase();
      return isReplay ? 'replay' : 'limit';
    }
    const index = this.#newIndex();
    const responded = responder.respond(index, this.#random.bytes(KEY_SIZE));
    if (responded === undefined) return 'authentication';
    this.#receivedTimestamp = timestamp;
    this.#receivedAt = now;
    this.#macs.write(responded.message, now);
    this.#push(responded.message, from, 'response');
    return new TransportSession(responded.keys, {
      index,
      peerIndex,
      isInitiator: false,
      createdAt: now,
    });
  }

  /**
   * Handles a response.
   * @returns the session of the handshake that this side has initiated.
   */
  onResponse(message: Uint8Array, from: IpEndpoint, now: number): TransportSession | DropReason {
    const initiator = this.#initiator;
    if (initiator?.index !== readIndex(message, ResponseOffset.receiver)) return 'index';
    const refusal = this.#limiter.refusal(message, from, now);
    if (refusal !== undefined) return refusal;
    const accepted = initiator.accept(message);
    if (accepted === undefined) return 'authentication';
    this.#initiator = undefined;
    const { index } = initiator;
    const { keys, peerIndex } = accepted;
    return new TransportSession(keys, { index, peerIndex, isInitiator: true, createdAt: now });
  }

  /**
   * Handles a cookie reply.
   * @param responded the index of the session that the peer has not used yet.
   */
  onCookieReply(
    message: Uint8Array,
    responded: number | undefined,
    now: number,
  ): DropReason | undefined {
    const index = readIndex(message, CookieReplyOffset.receiver);
    if (index !== this.#initiator?.index && index !== responded) return 'index';
    return this.#macs.readReply(message, now) ? undefined : 'authentication';
  }

  /** Erases all keys. */
  close(): void {
    this.abandon();
    this.#pending.clear();
    this.#staticKeys.staticSecret.fill(0);
    this.#staticKeys.presharedKey.fill(0);
  }

  #push(message: Uint8Array, to: IpEndpoint, what: PendingMessage['what']): void {
    if (this.#pending.size >= MAX_PENDING_MESSAGES) return;
    this.#pending.push({ message, destination: copyEndpoint(to), what });
  }

  /** Returns an unused index, random so that it discloses nothing about this side. */
  #newIndex(): number {
    for (;;) {
      const index = readIndex(this.#random.bytes(4), 0);
      if (index !== this.#initiator?.index && !this.#isTaken(index)) return index;
    }
  }
}

/**
 * Schedules initiations (whitepaper §6.1 and §6.4): at most one per `REKEY_TIMEOUT`, until there is a
 * session or `REKEY_ATTEMPT_TIME` has passed. Sets the deadline `initiation`.
 */
export class HandshakeAttempts {
  readonly #deadlines: TunnelDeadlines;
  /** Time at which the last initiation was sent, and when these attempts began. */
  #sentAt = -Infinity;
  #since = -Infinity;

  constructor(deadlines: TunnelDeadlines) {
    this.#deadlines = deadlines;
  }

  /**
   * Begins attempts.
   * @returns false while attempts are in progress.
   */
  begin(now: number): boolean {
    if (this.#deadlines.isSet('initiation')) return false;
    this.#since = now;
    this.#deadlines.set('initiation', Math.max(now, this.#sentAt + REKEY_TIMEOUT));
    return true;
  }

  isDue(now: number): boolean {
    return this.#deadlines.isDue('initiation', now);
  }

  isExhausted(now: number): boolean {
    return now - this.#since >= REKEY_ATTEMPT_TIME;
  }

  /** Called when an initiation was sent. @param jitter added to the time until the next one. */
  onSent(now: number, jitter: number): void {
    this.#sentAt = now;
    this.#deadlines.set('initiation', now + REKEY_TIMEOUT + jitter);
  }

  /** Returns the milliseconds for which initiations have been repeated. */
  ageAt(now: number): number {
    return now - this.#since;
  }

  /** Restarts attempts in progress, with an initiation at once: the peer may be at another address. */
  restart(now: number): void {
    if (!this.#deadlines.isSet('initiation')) return;
    this.#since = now;
    this.#deadlines.set('initiation', now);
  }

  end(): void {
    this.#deadlines.clear('initiation');
  }
}
