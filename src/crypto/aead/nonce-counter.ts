/**
 * A nonce that starts at zero and counts up as one little-endian number (SIP004 §2.2, SIP022
 * §3.1.2). It cannot run out: the shortest lasts for 2^96 messages.
 */
export class NonceCounter {
  /** The current nonce, always in the same array: for one call of a cipher, not to be kept. */
  readonly bytes: Uint8Array;

  /** `length` is 12 or 24. */
  constructor(length: number) {
    this.bytes = new Uint8Array(length);
  }

  /** The nonce after `count` messages, for one call of a cipher as well. */
  at(count: number): Uint8Array {
    let rest = count;
    for (let i = 0; i < this.bytes.length; i++) {
      this.bytes[i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return this.bytes;
  }

  /** Counts up. */
  next(): void {
    const { bytes } = this;
    for (let i = 0; i < bytes.length; i++) {
      const value = ((bytes[i] as number) + 1) & 0xff; // within
      bytes[i] = value;
      if (value !== 0) return;
    }
  }
}
