/**
 * A nonce that starts at zero and counts up as one little-endian number (SIP004 §2.2, SIP022
 * §3.1.2). It cannot run out: the shortest lasts for 2^96 messages.
 */
export class NonceCounter {
  /** The current nonce. The array is reused, so use it only for one call of a cipher. */
  readonly bytes: Uint8Array;

  /** `length` is 12 or 24. */
  constructor(length: number) {
    this.bytes = new Uint8Array(length);
  }

  /** Sets and returns the nonce after `count` messages. */
  at(count: number): Uint8Array {
    let rest = count;
    for (let i = 0; i < this.bytes.length; i++) {
      this.bytes[i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return this.bytes;
  }

  /** Increments the nonce. */
  next(): void {
    const { bytes } = this;
    for (let i = 0; i < bytes.length; i++) {
      const value = ((bytes[i] as number) + 1) & 0xff; // within
      bytes[i] = value;
      if (value !== 0) return;
    }
  }
}
