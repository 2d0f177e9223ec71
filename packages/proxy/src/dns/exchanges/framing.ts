import { BoundedReader, type ByteLink } from '@weir/io/links';
import { MAX_MESSAGE_SIZE } from '../message.ts';

const LENGTH_SIZE = 2;

/** Prepends the length to a message, as in streams (RFC 1035 §4.2.2), in one buffer (RFC 7766 §8). */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_SIZE + message.length);
  framed.writeUInt16BE(message.length, 0);
  framed.set(message, LENGTH_SIZE);
  return framed;
}

/** Reads the messages of a stream one at a time, whatever the chunk boundaries. */
export class FramedMessageReader {
  readonly #reader: BoundedReader;

  constructor(link: ByteLink, signal?: AbortSignal) {
    this.#reader = new BoundedReader(link, MAX_MESSAGE_SIZE, signal);
  }

  /**
   * Reads the next message.
   *
   * @throws {ProtocolError} when the stream ends.
   */
  async next(): Promise<Buffer> {
    const length = (await this.#reader.bytes(LENGTH_SIZE)).readUInt16BE(0);
    return this.#reader.bytes(length);
  }
}
