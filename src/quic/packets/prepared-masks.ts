import type { OneRttKeys } from '../protection/one-rtt-keys.ts';

/**
 * Header protection masks of datagrams that are received together, computed with one call (RFC 9001 §5.4).
 * The datagrams start at equal distances, and most hold a single 1-RTT packet; for others the masks are not
 * used.
 */
export class PreparedMasks {
  #buffer: Uint8Array | undefined;
  #count = 0;
  #offset = 0;
  #stride = 0;

  /** @param idSize bytes of the destination id in short headers. */
  prepare(
    keys: OneRttKeys,
    buffer: Uint8Array,
    offset: number,
    stride: number,
    end: number,
    idSize: number,
  ): void {
    this.#buffer = buffer;
    this.#offset = offset;
    this.#stride = stride;
    this.#count = keys.prepareMasks(buffer, offset + 1 + idSize, stride, end);
  }

  /** Invalidates the masks: the buffer will hold other datagrams. */
  forget(): void {
    this.#count = 0;
    this.#buffer = undefined;
  }

  /** Returns the index of the mask of the packet at `start`; -1 when there is none. */
  indexOf(buffer: Uint8Array, start: number): number {
    if (buffer !== this.#buffer) return -1;
    const index = (start - this.#offset) / this.#stride;
    return Number.isInteger(index) && index < this.#count ? index : -1;
  }
}
