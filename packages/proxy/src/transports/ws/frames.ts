import { isUtf8 } from 'node:buffer';
import { ProtocolError } from '@weir/io';
import { ownChunk } from '@weir/io/links';
import { xorInPlace, xorInto } from '@weir/io/platform/native';

/** Codes of Close frames (RFC 6455 §7.4), also used for the errors that they report. */
export const CloseCode = {
  normal: 1000,
  protocolError: 1002,
  invalidPayload: 1007,
  policy: 1008,
} as const;

/** Meanings of the registered codes; all codes but 1000 mean that the sender has failed. */
const MEANINGS: Readonly<Record<number, string>> = {
  1001: 'it goes away',
  1002: 'a protocol error',
  1003: 'data of a type that it does not accept',
  1007: 'invalid data',
  1008: 'a violation of its policy',
  1009: 'a message that is too large',
  1010: 'an extension is missing',
  1011: 'an internal error',
  1012: 'it restarts',
  1013: 'it is overloaded',
  1014: 'an invalid response of a server behind it',
};

/** A protocol violation that ends the connection, with the code of the Close frame to send. */
export class WsFrameError extends ProtocolError {
  readonly closeCode: number;

  constructor(what: string, closeCode: number = CloseCode.protocolError) {
    super(`WebSocket: ${what}`);
    this.closeCode = closeCode;
  }
}

/** Returns the error that a Close frame causes for the reader of the stream; `undefined` for a normal closure. */
export function closeError(code: number | undefined): WsFrameError | undefined {
  if (code === undefined || code === CloseCode.normal) return undefined;
  const meaning = MEANINGS[code];
  const text = meaning === undefined ? `code ${code}` : `code ${code}: ${meaning}`;
  return new WsFrameError(`the peer closed with ${text}`, code);
}

/** Returns the payload of a Close frame. */
export const closePayload = (code: number): Uint8Array => Uint8Array.of(code >> 8, code & 0xff);

/**
 * Returns the code in the payload of a Close frame, which may have neither code nor reason (§5.5.1).
 * @throws {WsFrameError} for an invalid payload.
 */
function closeCode(payload: Buffer): number | undefined {
  if (payload.length === 0) return undefined;
  if (payload.length === 1) throw new WsFrameError('a Close frame has half a code');
  const code = payload.readUInt16BE(0);
  if (!isCloseCode(code)) throw new WsFrameError(`a Close frame has the invalid code ${code}`);
  if (isUtf8(payload.subarray(2))) return code;
  throw new WsFrameError('the reason of a Close frame is not UTF-8', CloseCode.invalidPayload);
}

/**
 * Whether a Close frame may have this code: a registered code that is not reserved for local use, or one of the ranges
 * for libraries and applications.
 */
const isCloseCode = (code: number): boolean =>
  (code >= 1000 && code <= 1003) ||
  (code >= 1007 && code <= 1014) ||
  (code >= 3000 && code <= 4999);

/** Frames of RFC 6455 §5 as a byte stream: the boundaries of messages and frames have no meaning. */

export const Opcode = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
} as const;

const FIN = 0x80;
const RESERVED_BITS = 0x70;
const MASKED = 0x80;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
export const MASKING_KEY_BYTES = 4;
/** Limit of a control frame's payload in bytes (RFC 6455 §5.5). */
const CONTROL_LIMIT = 125;

/** A decoded part of frames. `close` and `invalid` are always the last. */
export type WsFrameEvent =
  | { readonly kind: 'data'; readonly data: Uint8Array }
  | { readonly kind: 'ping'; readonly data: Uint8Array }
  /** A Close frame; `code` is `undefined` if it has none. */
  | { readonly kind: 'close'; readonly code: number | undefined }
  /** A violation of RFC 6455 by the peer. */
  | { readonly kind: 'invalid'; readonly error: WsFrameError };

/** Returns the header of a frame; with a `key` the caller masks the payload with it. */
export function frameHeader(opcode: number, length: number, key?: Uint8Array): Buffer {
  const extended = length > 0xffff ? 8 : length > CONTROL_LIMIT ? 2 : 0;
  const header = Buffer.allocUnsafe(2 + extended + (key ? MASKING_KEY_BYTES : 0));
  header[0] = FIN | opcode;
  header[1] = key ? MASKED : 0;
  if (extended === 0) {
    header[1] |= length;
  } else if (extended === 2) {
    header[1] |= LENGTH_16;
    header.writeUInt16BE(length, 2);
  } else {
    header[1] |= LENGTH_64;
    header.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
    header.writeUInt32BE(length % 2 ** 32, 6);
  }
  if (key) header.set(key, 2 + extended);
  return header;
}

/** Returns a complete frame with a copy of the payload. */
export function wholeFrame(
  opcode: number,
  payload: readonly Uint8Array[],
  key?: Uint8Array,
): Buffer {
  const length = payload.reduce((sum, piece) => sum + piece.length, 0);
  const header = frameHeader(opcode, length, key);
  const frame = ownChunk(header.length + length);
  frame.set(header);
  let at = header.length;
  for (const piece of payload) {
    if (key) copyMasked(piece, key, frame.subarray(at), (at - header.length) & 3);
    else frame.set(piece, at);
    at += piece.length;
  }
  return frame;
}

/** Payload up to this length is moved to join that of the previous frame. */
const MERGED_BYTES = 512;

const NO_BYTES = Buffer.alloc(0);

/**
 * Decodes frames incrementally: payload is unmasked in place and passed on at once; at most a header and a control
 * frame (139 bytes) are buffered, whatever the length of a frame. Short payloads are joined: a peer can send thousands
 * of one-byte frames in one read, and each part causes a read of the protocol above.
 */
export class WsFrameDecoder {
  /** Number of frames whose headers the last `push` has read, which measures its work better than bytes. */
  frames = 0;
  /** Number of frames without data in the last `push`: control frames and empty ones. */
  idleFrames = 0;
  /** The undecoded rest of the chunk of the last `push`; `undefined` if there is none. */
  rest: Uint8Array | undefined;
  readonly #masked: boolean;
  readonly #header = Buffer.alloc(14);
  /** Number of received bytes of the header. */
  #have = 0;
  /** The masking key of the current frame. */
  readonly #key = new Uint8Array(MASKING_KEY_BYTES);
  #isInFrame = false;
  #opcode = 0;
  /** Length of the current frame's payload in bytes, and the number of bytes received. */
  #length = 0;
  #done = 0;
  /** The payload of a Ping or Close frame, buffered until it is complete. */
  #control: Buffer | undefined;
  /** The bounds of the payload in the chunk that is returned next. */
  #runStart = 0;
  #runEnd = 0;
  /** Whether a data message has begun and its final frame is still to come. */
  #inMessage = false;
  #isOver = false;

  /** @param masked whether the peer is a client, whose frames must be masked (§5.1). */
  constructor(masked: boolean) {
    this.#masked = masked;
  }

  /** Whether the received bytes end with a complete frame. */
  get isAtBoundary(): boolean {
    return !this.#isInFrame && this.#have === 0;
  }

  /**
   * Decodes the next bytes in place. Nothing is returned after a Close frame or an invalid one.
   * @param most limit of frames to begin; the caller passes `rest` in the next call.
   */
  push(chunk: Uint8Array, most = Infinity): WsFrameEvent[] {
    const events: WsFrameEvent[] = [];
    this.#runStart = this.#runEnd = 0;
    this.frames = this.idleFrames = 0;
    let at = 0;
    try {
      while (!this.#isOver) {
        if (!this.#isInFrame) {
          if (this.frames >= most) break;
          at = this.#readHeader(chunk, at);
          if (!this.#isInFrame) break;
          this.frames++;
        }
        at = this.#readPayload(chunk, at, events);
        if (this.#done < this.#length) break;
        this.#isInFrame = false;
        if (this.#control) this.#finishControl(chunk, this.#control, events);
      }
    } catch (error) {
      if (!(error instanceof WsFrameError)) throw error;
      this.#isOver = true;
      this.#passRun(chunk, events);
      events.push({ kind: 'invalid', error });
    }
    this.#passRun(chunk, events);
    this.rest = this.#isOver || at >= chunk.length ? undefined : chunk.subarray(at);
    return events;
  }

  /** Collects a header, and begins the frame once the header is complete. */
  #readHeader(chunk: Uint8Array, from: number): number {
    let at = from;
    for (;;) {
      const wanted = this.#have < 2 ? 2 : headerLength(this.#header);
      while (this.#have < wanted && at < chunk.length) {
        this.#header[this.#have++] = chunk[at++] as number; // in range
      }
      if (this.#have < wanted) return at;
      if (wanted === 2 && headerLength(this.#header) > 2) continue;
      this.#have = 0;
      this.#beginFrame(wanted);
      return at;
    }
  }

  /** @param size length of the header in bytes. */
  #beginFrame(size: number): void {
    const header = this.#header;
    const [first = 0, second = 0] = header;
    const opcode = first & 0x0f;
    const masked = (second & MASKED) !== 0;
    if ((first & RESERVED_BITS) !== 0) throw broken('a frame has reserved bits set');
    if (masked !== this.#masked) {
      throw broken(masked ? 'a server masked a frame' : 'a client sent a frame without a mask');
    }
    const length = payloadLength(header);
    const fin = (first & FIN) !== 0;
    const isControl = opcode >= Opcode.close;
    if (isControl) {
      if (opcode > Opcode.pong) throw broken(`a frame has the unknown opcode ${opcode}`);
      if (!fin) throw broken('a control frame is fragmented');
      if (length > CONTROL_LIMIT) throw broken('a control frame is too long');
    } else {
      if (opcode > Opcode.binary) throw broken(`a frame has the unknown opcode ${opcode}`);
      if (this.#inMessage !== (opcode === Opcode.continuation)) {
        throw broken('fragments of messages are interleaved');
      }
      this.#inMessage = !fin;
    }
    // Not `set` of a part: a call costs more than the rest of a control frame.
    if (masked) for (let i = 0; i < 4; i++) this.#key[i] = header[size - 4 + i] as number; // in range
    // The payload of a Pong is not used.
    const isKept = isControl && opcode !== Opcode.pong;
    if (isKept) this.#control = length === 0 ? NO_BYTES : Buffer.allocUnsafeSlow(length);
    if (isControl || length === 0) this.idleFrames++;
    this.#opcode = opcode;
    this.#length = length;
    this.#done = 0;
    this.#isInFrame = true;
  }

  #readPayload(chunk: Uint8Array, from: number, events: WsFrameEvent[]): number {
    const take = Math.min(this.#length - this.#done, chunk.length - from);
    if (take === 0) return from;
    const end = from + take;
    if (this.#opcode !== Opcode.pong) {
      if (this.#masked) applyMask(chunk, this.#key, this.#done & 3, from, end);
      if (this.#control) this.#control.set(chunk.subarray(from, end), this.#done);
      else this.#addToRun(chunk, from, end, events);
    }
    this.#done += take;
    return end;
  }

  /** Moves payload to the end of the run if that is cheap; otherwise begins another run. */
  #addToRun(chunk: Uint8Array, from: number, end: number, events: WsFrameEvent[]): void {
    if (this.#runEnd === this.#runStart || end - from > MERGED_BYTES) {
      this.#passRun(chunk, events);
      this.#runStart = from;
      this.#runEnd = end;
      return;
    }
    // Overwrites headers that have been read.
    chunk.copyWithin(this.#runEnd, from, end);
    this.#runEnd += end - from;
  }

  #passRun(chunk: Uint8Array, events: WsFrameEvent[]): void {
    if (this.#runEnd === this.#runStart) return;
    events.push({ kind: 'data', data: chunk.subarray(this.#runStart, this.#runEnd) });
    this.#runStart = this.#runEnd;
  }

  #finishControl(chunk: Uint8Array, control: Buffer, events: WsFrameEvent[]): void {
    this.#control = undefined;
    this.#passRun(chunk, events);
    if (this.#opcode === Opcode.ping) {
      events.push({ kind: 'ping', data: control });
      return;
    }
    const code = closeCode(control);
    this.#isOver = true;
    events.push({ kind: 'close', code });
  }
}

/** Returns the length of a header, from its first two bytes. */
function headerLength(header: Uint8Array): number {
  const [, second = 0] = header;
  const length = second & 0x7f;
  const extended = length === LENGTH_64 ? 8 : length === LENGTH_16 ? 2 : 0;
  return 2 + extended + ((second & MASKED) === 0 ? 0 : MASKING_KEY_BYTES);
}

function payloadLength(header: Buffer): number {
  const [, second = 0] = header;
  const length = second & 0x7f;
  if (length < LENGTH_16) return length;
  if (length === LENGTH_16) return shortest(header.readUInt16BE(2), CONTROL_LIMIT);
  const long = header.readUInt32BE(2) * 2 ** 32 + header.readUInt32BE(6);
  if (long > Number.MAX_SAFE_INTEGER) throw broken('a frame is too long');
  return shortest(long, 0xffff);
}

/** Checks that a length does not fit into the shorter form, which must be used if possible (§5.2). */
function shortest(length: number, shorter: number): number {
  if (length > shorter) return length;
  throw broken('a length does not have the shortest form');
}

const broken = (what: string): WsFrameError => new WsFrameError(what);

/** Length in bytes below which a native call costs more than it saves. */
const NATIVE_MASK_BYTES = 128;

/**
 * XORs the bytes from `from` to `end` in place with a masking key of 4 bytes (RFC 6455 §5.3), starting at key byte
 * `phase`.
 */
export function applyMask(
  data: Uint8Array,
  key: Uint8Array,
  phase = 0,
  from = 0,
  end = data.length,
): void {
  if (end - from >= NATIVE_MASK_BYTES) {
    xorInPlace(data.subarray(from, end), phase === 0 ? key : rotated(key, phase));
    return;
  }
  for (let at = from; at < end; at++) {
    // Both indices are in range: `at` below the length, the key has 4 bytes.
    data[at] = (data[at] as number) ^ (key[(at - from + phase) & 3] as number);
  }
}

/** Copies `source` to `out`, masked with a key starting at key byte `phase`. */
export function copyMasked(
  source: Uint8Array,
  key: Uint8Array,
  out: Uint8Array,
  phase: number,
): void {
  if (source.length >= NATIVE_MASK_BYTES) {
    xorInto(source, phase === 0 ? key : rotated(key, phase), out);
    return;
  }
  out.set(source);
  applyMask(out.subarray(0, source.length), key, phase);
}

const rotated = (key: Uint8Array, phase: number): Uint8Array =>
  Uint8Array.from(key, (_, i) => key[(i + phase) & 3] as number);
