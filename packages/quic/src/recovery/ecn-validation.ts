import { SPACES, type Space } from '../wire/packet-header.ts';

/** Packets that are marked in the testing period (RFC 9000 §A.4). */
const TESTED = 10;

/**
 * Validates that a path preserves ECN marks and that the peer reports them (RFC 9000 §13.4.2): the first
 * packets are marked, further ones only after the counts in ACK frames were found consistent.
 */
export class EcnValidation {
  state: 'testing' | 'unknown' | 'capable' | 'failed' = 'testing';
  #tested = 0;
  #testedLost = 0;
  /** Packets sent with ECT(0), and the newest counts of the peer, by packet number space. */
  readonly #sent = new Float64Array(SPACES.length);
  readonly #ect0 = new Float64Array(SPACES.length);
  readonly #ce = new Float64Array(SPACES.length);

  /** Whether the next packet is to be sent with ECT(0). */
  get marks(): boolean {
    return this.state === 'testing' || this.state === 'capable';
  }

  /** Called when a packet was sent with ECT(0). */
  onSent(space: Space): void {
    this.#sent[space] = (this.#sent[space] as number) + 1; // a space has its place, here and below
    if (this.state !== 'testing') return;
    if (++this.#tested >= TESTED) this.state = 'unknown';
  }

  /**
   * Called when a packet with ECT(0) was lost. If all of the testing period are lost, the path drops marked packets.
   */
  onLost(): void {
    if (this.state !== 'testing' && this.state !== 'unknown') return;
    if (++this.#testedLost >= TESTED) this.state = 'failed';
  }

  /**
   * Handles an ACK frame that raised the largest acknowledged number (§13.4.2.1).
   * @param marked packets with ECT(0) that the frame newly acknowledges.
   * @returns whether the frame newly reports Congestion Experienced.
   */
  onAck(
    space: Space,
    marked: number,
    hasEcn: boolean,
    ect0: number,
    ect1: number,
    ce: number,
  ): boolean {
    if (this.state === 'failed') return false;
    if (!hasEcn) {
      if (marked > 0) this.state = 'failed';
      return false;
    }
    const moreEct0 = ect0 - (this.#ect0[space] as number);
    const moreCe = ce - (this.#ce[space] as number);
    const isWrong =
      moreEct0 < 0 ||
      moreCe < 0 ||
      moreEct0 + moreCe < marked ||
      ect0 + ce > (this.#sent[space] as number) ||
      ect1 > 0; // never sent
    if (isWrong) {
      this.state = 'failed';
      return false;
    }
    this.#ect0[space] = ect0;
    this.#ce[space] = ce;
    if (marked > 0) this.state = 'capable';
    return moreCe > 0;
  }

  /** Restarts validation after the path has changed (§13.4.2). The counts continue. */
  restart(): void {
    if (this.state === 'failed') return;
    this.state = 'testing';
    this.#tested = 0;
    this.#testedLost = 0;
  }
}
