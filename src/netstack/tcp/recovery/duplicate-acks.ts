import { MAX_SEGMENTS } from './recovery-limits.ts';

/**
 * Duplicate acknowledgements in a row from a peer without SACK: each stands for one segment that has left the network,
 * but not for a particular one (RFC 5681 §3.2).
 */
export class DuplicateAcks {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
  }

  /** Counts a duplicate acknowledgement, with data outstanding. */
  onDuplicate(): void {
    this.#count = Math.min(this.#count + 1, MAX_SEGMENTS);
  }

  /**
   * Handles a partial acknowledgement (RFC 6582 §3.2), which covers the retransmitted segment and further ones, which
   * duplicates have already counted.
   */
  onPartialAck(bytes: number, mss: number): void {
    const counted = Math.max(0, Math.ceil(bytes / mss) - 1);
    this.#count = Math.max(0, this.#count - counted);
  }
}
