import type { RandomSource } from '../../crypto/random-source.ts';

/** Skipped numbers that are remembered; peers no longer acknowledge older ones. */
const REMEMBERED = 4;
/** The mean distance between skipped numbers: initial and largest, as quic-go chooses them. */
const FIRST_PERIOD = 256;
const LAST_PERIOD = 1 << 17;

/**
 * Packet numbers that are never sent, at random distances. A peer that acknowledges one of them mounts an optimistic
 * ACK attack: it acknowledges packets before they arrive, to make this side send more (RFC 9000 §21.4).
 */
export class NumberSkipping {
  readonly #random: RandomSource;
  readonly #skipped = new Float64Array(REMEMBERED).fill(-1);
  #count = 0;
  #period = FIRST_PERIOD;
  #next: number;

  constructor(random: RandomSource) {
    this.#random = random;
    this.#next = 1 + random.below(2 * this.#period);
  }

  /** Whether this number is to be skipped; remembers it if so. */
  skips(number: number): boolean {
    if (number < this.#next) return false;
    this.#skipped[this.#count++ % REMEMBERED] = number;
    this.#period = Math.min(this.#period * 2, LAST_PERIOD);
    this.#next = number + 2 + this.#random.below(2 * this.#period);
    return true;
  }

  /** Returns the number of remembered numbers between two numbers, both included. */
  countBetween(smallest: number, largest: number): number {
    let count = 0;
    for (const skipped of this.#skipped) if (skipped >= smallest && skipped <= largest) count++;
    return count;
  }
}
