import { ProtocolError, TruncatedError } from '../errors.ts';
import type { ByteLink } from './link.ts';

const NOTHING = Buffer.alloc(0);

/**
 * Reads a handshake from a link, by length or up to a delimiter, with at most `limit` bytes in memory and under one
 * `signal`.
 *
 * `release` returns unused bytes to the link, after which the caller may read the link itself.
 */
export class BoundedReader {
  readonly #link: ByteLink;
  readonly #limit: number;
  readonly #signal: AbortSignal | undefined;
  /** A full chunk of the link, or memory of this reader with room at its end. */
  #space: Buffer = NOTHING;
  /** Start of the bytes that were read and not taken, a part of `#space`. */
  #start = 0;
  #end = 0;

  constructor(link: ByteLink, limit: number, signal?: AbortSignal) {
    this.#link = link;
    this.#limit = limit;
    this.#signal = signal;
  }

  /** Takes exactly `length` bytes. Returns no promise when they were read already, the usual case. */
  bytes(length: number): Buffer | Promise<Buffer> {
    return length <= this.#held && length <= this.#limit
      ? this.#take(length)
      : this.#readBytes(length);
  }

  /** Takes one byte; returns a promise only if it has to be read. */
  byte(): number | Promise<number> {
    if (this.#held === 0) return this.#readByte();
    return this.#space[this.#start++] as number; // one byte is buffered
  }

  /** Returns the first `length` bytes without taking them. */
  async peek(length: number): Promise<Buffer> {
    while (this.#held < length) await this.#fill();
    return this.#space.subarray(this.#start, this.#start + length);
  }

  /** Takes everything before `delimiter`, and the delimiter itself, which is not returned. */
  async until(delimiter: Uint8Array): Promise<Buffer> {
    let searched = 0;
    for (;;) {
      const held = this.#space.subarray(this.#start, this.#end);
      const at = held.indexOf(delimiter, Math.max(0, searched - delimiter.length + 1));
      if (at >= 0) {
        const head = this.#take(at);
        this.#start += delimiter.length;
        return head;
      }
      searched = held.length;
      await this.#fill();
    }
  }

  /** Puts unused bytes back into the link and returns it. */
  release(): ByteLink {
    if (this.#held > 0) this.#link.unread(this.#space.subarray(this.#start, this.#end));
    this.#space = NOTHING;
    this.#start = this.#end = 0;
    return this.#link;
  }

  get #held(): number {
    return this.#end - this.#start;
  }

  async #readBytes(length: number): Promise<Buffer> {
    if (length > this.#limit)
      throw new ProtocolError(`${length} bytes are more than expected here`);
    while (this.#held < length) await this.#fill();
    return this.#take(length);
  }

  async #readByte(): Promise<number> {
    while (this.#held === 0) await this.#fill();
    return this.#space[this.#start++] as number; // one byte is buffered
  }

  async #fill(): Promise<void> {
    if (this.#held >= this.#limit) {
      throw new ProtocolError(`more than ${this.#limit} bytes where a shorter message is expected`);
    }
    const chunk = await this.#link.read(this.#signal);
    if (chunk === undefined) throw new TruncatedError('the peer closed in the middle of a message');
    this.#append(chunk);
  }

  /** Appends to a buffer that doubles, so that a message received byte by byte costs linear work. */
  #append(chunk: Uint8Array): void {
    const held = this.#held;
    if (held === 0) {
      this.#space = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    const length = held + chunk.length;
    if (this.#start + length > this.#space.length) {
      const space = Buffer.allocUnsafe(Math.max(length, 2 * held));
      space.set(this.#space.subarray(this.#start, this.#end));
      this.#space = space;
      this.#start = 0;
      this.#end = held;
    }
    this.#space.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  #take(length: number): Buffer {
    const start = this.#start;
    this.#start += length;
    return this.#space.subarray(start, this.#start);
  }
}
