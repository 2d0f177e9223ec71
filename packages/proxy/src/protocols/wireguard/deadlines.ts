import type { NamedDeadlines } from '@weir/base/timers';
import { UNANSWERED_TIME } from './limits.ts';

/*
 * The constants of whitepaper §6 under their names, and the deadlines of a tunnel. Times are in
 * milliseconds.
 */

/**
 * Messages after which a session is replaced, and after which it is no longer used. The whitepaper has
 * 2^60 and 2^64 - 2^13 - 1: counters here are safe integers, and no session lasts long enough to send as
 * many messages.
 */
export const REKEY_AFTER_MESSAGES = 2 ** 52;
export const REJECT_AFTER_MESSAGES = 2 ** 53 - 2 ** 13 - 1;
/** Age at which an initiator replaces a session when it sends. */
export const REKEY_AFTER_TIME = 120_000;
/** Age beyond which a session is not used, in either direction. */
export const REJECT_AFTER_TIME = 180_000;
/** Time for which initiations are repeated while packets wait. */
export const REKEY_ATTEMPT_TIME = 90_000;
/** Time between two initiations. */
export const REKEY_TIMEOUT = 5_000;
/** Time within which a received packet is answered, with a keep-alive if nothing else is sent. */
export const KEEPALIVE_TIMEOUT = 10_000;

/** Bound of the random part of a retry, so that two peers do not stay synchronized (§6.1). */
export const MAX_JITTER = 334;

/** Time without a new session after which all ephemeral and session keys are erased (§6.3). */
export const ERASE_AFTER_TIME = 3 * REJECT_AFTER_TIME;

/** Age at which an initiator that only receives replaces a session (§6.2). */
export const REKEY_ON_RECEIPT_TIME = REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT;

export const TUNNEL_DEADLINES = [
  /** The next initiation of the handshake in progress. */
  'initiation',
  /** A keep-alive, since the peer's packets have had no response (§6.5). */
  'keepalive',
  /** A new handshake, since the peer has not responded to sent packets (§6.5). */
  'silence',
  /** The persistent keep-alive of the configuration, which keeps NAT mappings. */
  'persistent',
  /** The erasure of ephemeral keys and session keys (§6.3). */
  'erase',
] as const;

export type TunnelDeadlines = NamedDeadlines<(typeof TUNNEL_DEADLINES)[number]>;

/**
 * Schedules keep-alives, and measures for how long the peer has not responded (whitepaper §6.5). Sets the deadlines
 * `keepalive`, `silence` and `persistent`; the tunnel handles `silence`.
 */
export class PeerLiveness {
  readonly #deadlines: TunnelDeadlines;
  /** Milliseconds between persistent keep-alives; 0 for none. */
  #interval = 0;
  /** Time at which the last authentic message was received. */
  #receivedAt = -Infinity;
  /** Time at which the first packet was sent after the last one of the peer; Infinity for none. */
  #unansweredSince = Infinity;
  #isKeepaliveDue = false;

  constructor(deadlines: TunnelDeadlines) {
    this.#deadlines = deadlines;
  }

  /** Time at which the last authentic message was received; -Infinity for never. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  /** Whether packets were sent after the last one of the peer. */
  get isUnanswered(): boolean {
    return this.#unansweredSince !== Infinity;
  }

  get isKeepaliveDue(): boolean {
    return this.#isKeepaliveDue;
  }

  /** Sets the interval of persistent keep-alives; the first is due at once. */
  setPersistent(interval: number, now: number): void {
    this.#interval = interval;
    if (interval > 0) this.#deadlines.set('persistent', now);
    else this.#deadlines.clear('persistent');
  }

  requireKeepalive(): void {
    this.#isKeepaliveDue = true;
  }

  /** Cancels a keep-alive: another packet was sent instead, or nothing can be sent. */
  dropKeepalive(): void {
    this.#isKeepaliveDue = false;
  }

  /** Called when an authentic message was sent. */
  onSent(now: number): void {
    this.#deadlines.clear('keepalive');
    this.#onTraversal(now);
  }

  /**
   * Called when a packet other than a keep-alive was sent: the peer has to respond in time.
   *
   * @param jitter added to that time.
   */
  onPacketSent(now: number, jitter: () => number): void {
    this.#unansweredSince = Math.min(this.#unansweredSince, now);
    if (this.#deadlines.isSet('silence')) return;
    this.#deadlines.set('silence', now + KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + jitter());
  }

  /** Called when an authentic message was received, including those of handshakes. */
  onReceived(now: number): void {
    this.#receivedAt = now;
    this.#deadlines.clear('silence');
    this.#onTraversal(now);
  }

  /** Called when a packet was received. @param length 0 for a keep-alive, which needs no response. */
  onPacketReceived(length: number, now: number): void {
    this.#unansweredSince = Infinity;
    // A keep-alive that is due already answers this packet as well.
    if (length === 0 || this.#deadlines.isSet('keepalive')) return;
    this.#deadlines.set('keepalive', now + KEEPALIVE_TIMEOUT);
  }

  /** Called when a new session is in use. @returns whether packets were unanswered for `UNANSWERED_TIME` before. */
  onUsable(now: number): boolean {
    const isRestored = now - this.#unansweredSince >= UNANSWERED_TIME;
    this.#unansweredSince = Infinity;
    return isRestored;
  }

  /** Handles `keepalive` and `persistent`. */
  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    if (deadlines.take('keepalive', now)) this.#isKeepaliveDue = true;
    if (deadlines.take('persistent', now)) {
      this.#isKeepaliveDue = true;
      this.#onTraversal(now);
    }
  }

  /** Called when all attempts of a handshake have failed. */
  onGivenUp(): void {
    this.#deadlines.clear('keepalive');
    this.#isKeepaliveDue = false;
  }

  /** Called when an authentic message was sent or received. */
  #onTraversal(now: number): void {
    if (this.#interval > 0) this.#deadlines.set('persistent', now + this.#interval);
  }
}
