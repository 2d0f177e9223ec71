/**
 * A nonce that counts up from zero as a little-endian integer (SIP004 §2.2, SIP022 §3.1.2). It cannot overflow: the
 * shortest nonce suffices for 2^96 messages.
 */
export class NonceCounter {
  /** The current nonce. The array is reused: it is valid for one call of a cipher only. */
  readonly bytes: Uint8Array;

  /** @param length length of the nonce in bytes: 12 or 24. */
  constructor(length: number) {
    this.bytes = new Uint8Array(length);
  }

  /** Sets the nonce to its value after `count` messages and returns it. */
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
