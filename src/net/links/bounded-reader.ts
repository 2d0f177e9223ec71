import { ProtocolError } from '../errors.ts';
import type { ByteLink } from './link.ts';

/**
 * Reads a handshake from a link: a number of bytes, or up to a delimiter, with at most `limit` bytes
 * in memory and under one `signal`.
 *
 * `release` returns unused bytes to the link, after which the caller may read the link itself.
 */
export class BoundedReader {
  readonly #link: ByteLink;
  readonly #limit: number;
  readonly #signal: AbortSignal | undefined;
  /** Bytes read and not taken: a part of `#space`. */
  #buffer: Buffer = Buffer.alloc(0);
  /** A chunk of the link, which is full, or memory of this reader with room at its end. */
  #space: Buffer = this.#buffer;

  constructor(link: ByteLink, limit: number, signal?: AbortSignal) {
    this.#link = link;
    this.#limit = limit;
    this.#signal = signal;
  }

  /** Takes exactly `length` bytes. */
  async bytes(length: number): Promise<Buffer> {
    if (length > this.#limit)
      throw new ProtocolError(`${length} bytes are more than expected here`);
    while (this.#buffer.length < length) await this.#fill();
    return this.#take(length);
  }

  /** Takes one byte. */
  async byte(): Promise<number> {
    const [value] = await this.bytes(1);
    return value as number; // bytes(1) has exactly one
  }

  /** Returns the first `length` bytes without taking them. */
  async peek(length: number): Promise<Buffer> {
    while (this.#buffer.length < length) await this.#fill();
    return this.#buffer.subarray(0, length);
  }

  /** Takes everything before `delimiter`, and the delimiter itself, which is not returned. */
  async until(delimiter: Uint8Array): Promise<Buffer> {
    let searched = 0;
    for (;;) {
      const at = this.#buffer.indexOf(delimiter, Math.max(0, searched - delimiter.length + 1));
      if (at >= 0) {
        const head = this.#take(at);
        this.#take(delimiter.length);
        return head;
      }
      searched = this.#buffer.length;
      await this.#fill();
    }
  }

  /** Puts unused bytes back into the link and returns it. */
  release(): ByteLink {
    if (this.#buffer.length > 0) this.#link.unread(this.#buffer);
    this.#space = this.#buffer = Buffer.alloc(0);
    return this.#link;
  }

  async #fill(): Promise<void> {
    if (this.#buffer.length >= this.#limit) {
      throw new ProtocolError(`more than ${this.#limit} bytes where a shorter message is expected`);
    }
    const chunk = await this.#link.read(this.#signal);
    if (chunk === undefined) throw new ProtocolError('the peer closed in the middle of a message');
    this.#append(chunk);
  }

  /** Appends to space that doubles, so that a message received byte by byte costs linear work. */
  #append(chunk: Uint8Array): void {
    const held = this.#buffer.length;
    if (held === 0) {
      this.#space = this.#buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      return;
    }
    const length = held + chunk.length;
    let start = this.#buffer.byteOffset - this.#space.byteOffset;
    if (start + length > this.#space.length) {
      this.#space = Buffer.allocUnsafe(Math.max(length, 2 * held));
      this.#space.set(this.#buffer);
      start = 0;
    }
    this.#space.set(chunk, start + held);
    this.#buffer = this.#space.subarray(start, start + length);
  }

  #take(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    return taken;
  }
}
