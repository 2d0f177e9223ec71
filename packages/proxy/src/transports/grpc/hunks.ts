import { ProtocolError } from '@weir/io';

/**
 * The messages of v2ray's gRPC tunnel: `Hunk { bytes data = 1 }` and `MultiHunk { repeated bytes
 * data = 1 }`, each after the five-byte prefix of gRPC messages. A Hunk is a MultiHunk of one
 * element, so one codec serves both.
 */

const PREFIX_BYTES = 5;
/** Tag of field 1, length-delimited. */
const DATA_TAG = 0x0a;
/** Limit of a message in bytes: gRPC libraries reject messages of more than 4 MB. */
const HUNK_LIMIT = 1 << 20;
/** Bytes of the longest varint, of 64 bits. */
const VARINT_BYTES = 10;

/** Encodes `chunk` as messages; the pieces returned share its memory. */
export function encodeHunks(chunk: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < chunk.length; at += HUNK_LIMIT) {
    // The chunk itself where it fits: a view of it could not be freed with its memory.
    const data = chunk.length <= HUNK_LIMIT ? chunk : chunk.subarray(at, at + HUNK_LIMIT);
    pieces.push(hunkHeader(data.length), data);
  }
  return pieces;
}

/** Encodes the message prefix and the field header of `length` bytes of payload. */
function hunkHeader(length: number): Buffer {
  const digits = varintLength(length);
  const header = Buffer.allocUnsafe(PREFIX_BYTES + 1 + digits);
  header[0] = 0;
  header.writeUInt32BE(1 + digits + length, 1);
  header[PREFIX_BYTES] = DATA_TAG;
  let rest = length;
  for (let at = PREFIX_BYTES + 1; at < header.length; at++) {
    header[at] = rest > 0x7f ? (rest & 0x7f) | 0x80 : rest;
    rest >>>= 7;
  }
  return header;
}

/** @param value an integer of up to 32 bits. */
function varintLength(value: number): number {
  let digits = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits++;
  return digits;
}

type State =
  /** In the five-byte prefix of a message. */
  | 'prefix'
  | 'tag'
  | 'length'
  /** In the payload. */
  | 'data'
  /** In an unknown field, which is skipped. */
  | 'skip'
  /** In the varint of an unknown field, which is skipped. */
  | 'skip-varint';

/** Decodes messages incrementally: payload is returned as it arrives, and only a few bytes of headers are buffered. */
export class HunkDecoder {
  #state: State = 'prefix';
  /** Number of received bytes of the prefix, and the part of the message length in them. */
  #prefix = 0;
  #length = 0;
  /** Bytes that remain of the message, and of its current field. */
  #message = 0;
  #field = 0;
  /** The partial value of the current varint. */
  #value = 0;
  #digits = 0;
  #skipped = false;

  /** Number of messages begun so far: small messages cost more than their bytes. */
  messages = 0;

  /** Whether the received bytes end with a complete message. */
  get atBoundary(): boolean {
    return this.#state === 'prefix' && this.#prefix === 0;
  }

  /**
   * Returns the payload in the next bytes, as subarrays of `chunk`.
   * @throws {ProtocolError} for an invalid message.
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'data' || this.#state === 'skip') {
        const take = Math.min(this.#field, chunk.length - at);
        if (this.#state === 'data' && take > 0) pieces.push(chunk.subarray(at, at + take));
        at += take;
        this.#message -= take;
        this.#field -= take;
        if (this.#field === 0) this.#nextField();
      } else {
        this.#takeByte(chunk[at++] as number); // in range
      }
    }
    return pieces;
  }

  #takeByte(byte: number): void {
    if (this.#state === 'prefix') {
      this.#takePrefix(byte);
      return;
    }
    this.#message--;
    if (++this.#digits > VARINT_BYTES) throw broken('a number is too long');
    const last = byte < 0x80;
    if (!last && this.#message === 0) throw broken('a field is longer than its message');
    this.#value += (byte & 0x7f) * 2 ** (7 * (this.#digits - 1));
    if (!last) return;
    if (this.#state === 'skip-varint') this.#nextField();
    else if (this.#state === 'tag') this.#takeTag(this.#value);
    else this.#beginField(this.#value, this.#skipped ? 'skip' : 'data');
  }

  /** Processes a byte of the prefix: one for compression, then four for the length. */
  #takePrefix(byte: number): void {
    if (this.#prefix === 0) {
      if (byte === 1) {
        throw new HunkError(
          'a message is compressed',
          'grpc: compressed flag set with identity or empty encoding',
        );
      }
      if (byte !== 0) {
        throw new HunkError(
          `a message has the unknown format ${byte}`,
          `grpc: received unexpected payload format ${byte}`,
        );
      }
      this.#length = 0;
    } else {
      this.#length = this.#length * 256 + byte;
    }
    if (++this.#prefix < PREFIX_BYTES) return;
    this.messages++;
    this.#prefix = 0;
    this.#message = this.#length;
    this.#nextField();
  }

  /** Processes the tag of a field: its number and wire type. Unknown fields are skipped, as in protobuf. */
  #takeTag(tag: number): void {
    this.#skipped = tag !== DATA_TAG;
    switch (tag % 8) {
      case 0:
        this.#begin('skip-varint');
        return;
      case 1:
        this.#beginField(8, 'skip');
        return;
      case 2:
        this.#begin('length');
        return;
      case 5:
        this.#beginField(4, 'skip');
        return;
      default:
        throw broken('a field has an unknown type');
    }
  }

  #beginField(length: number, state: 'data' | 'skip'): void {
    if (length > this.#message) throw broken('a field is longer than its message');
    this.#field = length;
    this.#state = state;
    if (length === 0) this.#nextField();
  }

  #nextField(): void {
    if (this.#message > 0) this.#begin('tag');
    else this.#state = 'prefix';
  }

  #begin(state: 'tag' | 'length' | 'skip-varint'): void {
    this.#state = state;
    this.#value = 0;
    this.#digits = 0;
    if (this.#message === 0) throw broken('a field is longer than its message');
  }
}

/** An invalid message, with the text that grpc-go reports for it (as in Xray 26.7.28). */
export class HunkError extends ProtocolError {
  readonly grpcMessage: string;

  constructor(what: string, grpcMessage: string) {
    super(`gRPC: ${what}`);
    this.grpcMessage = grpcMessage;
  }
}

const broken = (what: string): HunkError =>
  new HunkError(
    what,
    'grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data',
  );
