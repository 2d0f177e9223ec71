import { UnitShare } from '@weir/io/bounds';
import type { ByteLink } from '@weir/io/links';
import { MessageError } from './message.ts';
import { isToken } from '../fields/field.ts';
import { HEAD_LIMIT, LEAST_HEAD_BYTES, MAX_ALL_HEAD_BYTES } from '../limits.ts';

const LF = 0x0a;
const CR = 0x0d;

/**
 * Finds the end of a message head in a stream, whatever the boundaries of its chunks, and buffers at most `limit`
 * bytes. Empty lines before the start line are skipped (RFC 9112 §2.2).
 *
 * An empty line ends the head both after CR LF and after a bare LF, so that the parser rejects the latter at once and
 * not after a time limit.
 */
export class HeadScanner {
  readonly #limit: number;
  readonly #startsWell: (byte: number) => boolean;
  #buffer: Buffer = Buffer.allocUnsafe(0);
  #length = 0;
  #start = 0;
  #searched = 0;
  /** Whether a start line has begun. */
  started = false;

  /**
   * @param startsWell whether a byte can begin the start line; other bytes are rejected at once, so that a peer of
   * another protocol does not wait for the time limit.
   */
  constructor(limit: number, startsWell: (byte: number) => boolean) {
    this.#limit = limit;
    this.#startsWell = startsWell;
  }

  /** Number of bytes of memory used by an unfinished head. */
  get held(): number {
    return this.#buffer.length;
  }

  /** The head including its empty line, once `push` has found its end. */
  get head(): Buffer {
    return this.#buffer.subarray(this.#start, this.#searched);
  }

  /**
   * Adds the next chunk. Returns the number of its bytes that belong to the head if the head ends in the chunk, or
   * `undefined` if more data is needed.
   *
   * @throws {MessageError} 400 for data that cannot be HTTP, 431 beyond the limit.
   */
  push(chunk: Uint8Array): number | undefined {
    const before = this.#length;
    this.#append(chunk.subarray(0, this.#limit - before));
    this.started ||= this.#seekStart();
    const end = this.started ? this.#findEnd() : undefined;
    if (end !== undefined) {
      this.#searched = end;
      return end - before;
    }
    if (this.#length >= this.#limit) {
      throw new MessageError(431, `the head is longer than ${this.#limit} bytes`);
    }
    // The caller may reuse the memory of a chunk, and a view of a few bytes could keep a large buffer alive.
    if (before === 0) this.#buffer = Buffer.from(this.#buffer);
    return undefined;
  }

  #append(chunk: Uint8Array): void {
    if (this.#length === 0) {
      // Not copied before it is necessary: a chunk holds thousands of pipelined heads, each of which would copy all
      // that follow.
      this.#buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      this.#length = chunk.length;
      return;
    }
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(length, 2 * this.#length)));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  #seekStart(): boolean {
    for (;;) {
      const first = this.#at(this.#start);
      const second = this.#at(this.#start + 1);
      if (first === LF) this.#start += 1;
      else if (first === CR && second === LF) this.#start += 2;
      else if (first === undefined || (first === CR && second === undefined)) return false;
      else if (this.#startsWell(first)) break;
      else throw new MessageError(400, 'this is not HTTP/1');
    }
    this.#searched = this.#start;
    return true;
  }

  #findEnd(): number | undefined {
    for (;;) {
      const lf = this.#buffer.indexOf(LF, this.#searched);
      if (lf < 0 || lf >= this.#length) {
        this.#searched = this.#length;
        return undefined;
      }
      const next = this.#at(lf + 1);
      if (next === LF) return lf + 2;
      if (next === CR && this.#at(lf + 2) === LF) return lf + 3;
      if (next === undefined || (next === CR && this.#at(lf + 2) === undefined)) {
        this.#searched = lf;
        return undefined;
      }
      this.#searched = lf + 1;
    }
  }

  #at(index: number): number | undefined {
    return index < this.#length ? this.#buffer[index] : undefined;
  }
}

/** The bytes of a message head, with the empty line that ends it. */
export interface HeadBytes {
  readonly bytes: Uint8Array;
  /** Whether data after the head arrived with it; that data was put back into the link. */
  readonly followed: boolean;
}

const TOKEN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  isToken(String.fromCharCode(byte)) ? 1 : 0,
);

/** Whether a byte can begin a request line. */
export const startsRequest = (byte: number): boolean => TOKEN_BYTES[byte] === 1;

/** Whether a byte can begin a status line: the H of HTTP. */
export const startsResponse = (byte: number): boolean => byte === 0x48;

/**
 * Bytes of a head that cost a unit of `UnitShare`: to parse and to write one of 50 KB with a thousand lines takes 0.5 ms.
 * Short heads do not wait, long ones do, since many may come at once.
 */
const BYTES_A_UNIT = 32;

/**
 * Reads a message head from a link and puts back the data after it; `undefined` if the stream ends before a start line
 * begins.
 *
 * @param memory the memory shared by unfinished heads of an inbound.
 * @throws {MessageError} 400 for a truncated or impossible head, 431 for one beyond the limit.
 */
export async function readHead(
  link: ByteLink,
  startsWell: (byte: number) => boolean,
  signal?: AbortSignal,
  limit = HEAD_LIMIT,
  memory?: HeadMemory,
): Promise<HeadBytes | undefined> {
  using claim = memory?.claim();
  const scanner = new HeadScanner(limit, startsWell);
  for (;;) {
    const chunk = await link.read(signal);
    if (chunk === undefined) {
      if (!scanner.started) return undefined;
      throw new MessageError(400, 'the peer closed in the middle of a message head');
    }
    const used = scanner.push(chunk);
    if (used === undefined) {
      claim?.resize(scanner.held);
      continue;
    }
    const followed = used < chunk.length;
    if (followed) link.unread(chunk.subarray(used));
    const bytes = scanner.head;
    if (bytes.length > LEAST_HEAD_BYTES) {
      claim?.resize(scanner.held);
      await new UnitShare().take(bytes.length / BYTES_A_UNIT);
    }
    return { bytes, followed };
  }
}

/**
 * Memory of the unfinished heads of many connections. Beyond MAX_ALL_HEAD_BYTES each head may still use
 * LEAST_HEAD_BYTES, so that clients with long unfinished heads do not affect clients with short ones.
 */
export class HeadMemory {
  /** Number of bytes used by all unfinished heads. */
  bytes = 0;

  /** Returns the claim of a new head. Disposing of the claim releases its memory. */
  claim(): HeadClaim {
    return new HeadClaim((change) => (this.bytes += change));
  }
}

/** The memory of one unfinished head. */
class HeadClaim implements Disposable {
  /** @returns the number of bytes that all heads use after the change. */
  readonly #change: (bytes: number) => number;
  #bytes = 0;

  constructor(change: (bytes: number) => number) {
    this.#change = change;
  }

  /**
   * Sets the number of bytes that the head uses.
   * @throws {MessageError} 431 if the limits do not allow it.
   */
  resize(bytes: number): void {
    const all = this.#change(bytes - this.#bytes);
    this.#bytes = bytes;
    if (all <= MAX_ALL_HEAD_BYTES || bytes <= LEAST_HEAD_BYTES) return;
    throw new MessageError(431, 'the head is long, and so are too many unfinished ones of others');
  }

  [Symbol.dispose](): void {
    this.#change(-this.#bytes);
    this.#bytes = 0;
  }
}
