import { connectionError, type Http3Error } from '../errors.ts';
import { PrefixInteger, TRUNCATED } from '../../fields/prefix-integer.ts';

/** Maximum length in octets of an acceptable instruction: a prefix and the rest of a stream id. */
const INSTRUCTION_LIMIT = 9;

/**
 * Reads a peer's QPACK stream (RFC 9204 §4.3, §4.4) if neither dynamic table has any capacity, so that few instructions
 * are valid. Accepts chunks of any size.
 */
export class InstructionReader {
  readonly #kind: 'encoder' | 'decoder';
  readonly #integer = new PrefixInteger();
  /** The received part of an instruction. */
  readonly #held = new Uint8Array(INSTRUCTION_LIMIT);
  #heldLength = 0;

  constructor(kind: 'encoder' | 'decoder') {
    this.#kind = kind;
  }

  /** Reads a chunk; returns the error of the first invalid instruction. */
  feed(bytes: Uint8Array): Http3Error | undefined {
    for (const byte of bytes) {
      this.#held[this.#heldLength++] = byte;
      const end = this.#heldLength;
      const error = this.#kind === 'encoder' ? this.#encoder(end) : this.#decoder(end);
      if (error) return error;
    }
    return undefined;
  }

  /**
   * Checks an encoder instruction: only Set Dynamic Table Capacity to 0 is valid, since every insertion exceeds the
   * capacity.
   */
  #encoder(end: number): Http3Error | undefined {
    const first = this.#held[0] as number; // written above
    if (first >> 5 !== 0b001) {
      return connectionError('QPACK_ENCODER_STREAM_ERROR', 'an insertion exceeds the capacity');
    }
    const capacity = this.#integer.read(this.#held, 0, end, 5);
    if (capacity === TRUNCATED) return undefined;
    if (capacity !== 0) {
      return connectionError('QPACK_ENCODER_STREAM_ERROR', 'the capacity exceeds the limit');
    }
    this.#heldLength = 0;
    return undefined;
  }

  /**
   * Checks a decoder instruction: only Stream Cancellation is valid, since the sections sent need no acknowledgement.
   */
  #decoder(end: number): Http3Error | undefined {
    const first = this.#held[0] as number; // written above
    if (first >> 6 !== 0b01) {
      return connectionError('QPACK_DECODER_STREAM_ERROR', 'an acknowledgement of no insertion');
    }
    const id = this.#integer.read(this.#held, 0, end, 6);
    if (id === TRUNCATED) return undefined;
    if (id > Number.MAX_SAFE_INTEGER) {
      return connectionError('QPACK_DECODER_STREAM_ERROR', 'a stream id is too large');
    }
    this.#heldLength = 0;
    return undefined;
  }
}
