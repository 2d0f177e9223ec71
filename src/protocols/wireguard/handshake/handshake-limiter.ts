import type { RandomSource } from '../../../crypto/random-source.ts';
import { addressText, type IpEndpoint } from '../../../ip/ip-endpoint.ts';
import { RateLimit } from '../../../net/time/rate-limit.ts';
import { MacReader } from './cookies.ts';
import {
  COOKIE_REPLIES_A_SECOND,
  HANDSHAKES_A_SECOND,
  MACS_A_SECOND,
  MAX_VALIDATED_SOURCES,
  VALIDATED_HANDSHAKES_A_SECOND,
} from '../limits.ts';

/** The decision about an initiation. Bytes are a cookie reply, which is sent instead of reading the initiation. */
export type InitiationDecision = 'read' | 'invalid' | 'limit' | Uint8Array;

/**
 * Decides which initiations are read, which is costly (whitepaper §5.3): all with a valid `mac1` up to a limit; beyond
 * that those with a valid `mac2`, up to a limit for each address.
 */
export class HandshakeLimiter {
  readonly #macs: MacReader;
  readonly #all = new RateLimit(HANDSHAKES_A_SECOND);
  readonly #checks = new RateLimit(MACS_A_SECOND);
  readonly #replies = new RateLimit(COOKIE_REPLIES_A_SECOND);
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

  /** Whether a response with the right index has a valid `mac1`. */
  isValid(response: Uint8Array, from: IpEndpoint, now: number): boolean {
    return this.#checks.take(now) && this.#macs.check(response, from, now) !== 'invalid';
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
