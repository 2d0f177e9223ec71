import { KEEPALIVE_TIMEOUT, REKEY_TIMEOUT, type TunnelDeadlines } from './deadlines.ts';
import { UNANSWERED_TIME } from './limits.ts';

/**
 * Whether the two ends know of each other that they are there (whitepaper §6.5): when a keep-alive is due, and
 * for how long the peer has not responded. Sets the deadlines `keepalive`, `silence` and `persistent`.
 */
export class PeerLiveness {
  readonly #deadlines: TunnelDeadlines;
  /** Milliseconds between packets for those that keep track of the path; 0 for none. */
  #interval = 0;
  /** When the last authentic message came. */
  #receivedAt = -Infinity;
  /** When the first packet was sent since the peer's last one. */
  #unansweredSince = Infinity;
  #isKeepaliveDue = false;
  /** Whether packets have come since the deadline of a keep-alive was set. */
  #needsAnotherKeepalive = false;

  constructor(deadlines: TunnelDeadlines) {
    this.#deadlines = deadlines;
  }

  /** When the last authentic message came; -Infinity for never. */
  get receivedAt(): number {
    return this.#receivedAt;
  }

  /** Whether packets were sent since the peer's last one. */
  get isUnanswered(): boolean {
    return this.#unansweredSince !== Infinity;
  }

  get isKeepaliveDue(): boolean {
    return this.#isKeepaliveDue;
  }

  /** A path that needs packets in intervals needs one from the start. */
  setPersistent(interval: number, now: number): void {
    this.#interval = interval;
    if (interval > 0) this.#deadlines.set('persistent', now);
    else this.#deadlines.clear('persistent');
  }

  requireKeepalive(): void {
    this.#isKeepaliveDue = true;
  }

  /** There is no reason for one any more. */
  dropKeepalive(): void {
    this.#isKeepaliveDue = false;
  }

  /** Something authentic was sent. */
  onSent(now: number): void {
    this.#deadlines.clear('keepalive');
    this.#onTraversal(now);
  }

  /** A packet was sent that is no keep-alive: something is to come within a time. @param jitter added to that. */
  onPacketSent(now: number, jitter: () => number): void {
    this.#unansweredSince = Math.min(this.#unansweredSince, now);
    if (this.#deadlines.isSet('silence')) return;
    this.#deadlines.set('silence', now + KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + jitter());
  }

  /** Something authentic has come, be it of a handshake. */
  onReceived(now: number): void {
    this.#receivedAt = now;
    this.#deadlines.clear('silence');
    this.#onTraversal(now);
  }

  /** A packet has come. @param length 0 for a keep-alive, which needs no response. */
  onPacketReceived(length: number, now: number): void {
    this.#unansweredSince = Infinity;
    if (length === 0) return;
    if (this.#deadlines.isSet('keepalive')) this.#needsAnotherKeepalive = true;
    else this.#deadlines.set('keepalive', now + KEEPALIVE_TIMEOUT);
  }

  /** A new session is in use. @returns whether that ends a time in which packets had no answer. */
  onSession(now: number): boolean {
    const isRestored = now - this.#unansweredSince >= UNANSWERED_TIME;
    this.#unansweredSince = Infinity;
    return isRestored;
  }

  /** Keep-alives that are due by their deadlines. */
  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    if (deadlines.take('keepalive', now)) {
      this.#isKeepaliveDue = true;
      if (this.#needsAnotherKeepalive) deadlines.set('keepalive', now + KEEPALIVE_TIMEOUT);
      this.#needsAnotherKeepalive = false;
    }
    if (deadlines.take('persistent', now)) {
      this.#isKeepaliveDue = true;
      this.#onTraversal(now);
    }
  }

  /** The peer is given up. */
  onGivenUp(): void {
    this.#deadlines.clear('keepalive');
    this.#isKeepaliveDue = false;
  }

  /** Something authentic has passed, in either direction. */
  #onTraversal(now: number): void {
    if (this.#interval > 0) this.#deadlines.set('persistent', now + this.#interval);
  }
}
