import {
  FRAME_HEADER_BYTES,
  PREFACE,
  writeFrameHeader,
} from '../../../packages/http/src/http2/frames.ts';

/** A frame as its bytes. */
export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(0),
): Buffer {
  const out = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
  out.set(payload, writeFrameHeader(out, 0, payload.length, type, flags, streamId));
  return out;
}

export const uint32 = (value: number): Buffer => {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value >>> 0);
  return out;
};

/** A SETTINGS frame of parameters by their ids. */
export const settingsFrame = (
  ...pairs: readonly (readonly [id: number, value: number])[]
): Buffer =>
  frame(
    4,
    0,
    0,
    Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)]))),
  );

export const SETTINGS_ACK = frame(4, 1, 0);

/** What a client without settings begins with. */
export const CLIENT_START = Buffer.concat([PREFACE, settingsFrame()]);

/** A header block without indexing or Huffman codes (RFC 7541 §6.2.2), of short texts. */
export const plainBlock = (fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(
    fields.map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  );

export const REQUEST_BLOCK = plainBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'server.test'],
]);

/** HEADERS of a request that is not ended. */
export const requestFrame = (streamId: number, block: Uint8Array = REQUEST_BLOCK): Buffer =>
  frame(1, 4, streamId, block);

export interface ParsedFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Cuts what a core has sent into frames; a client's preface is left out. */
export function parseFrames(bytes: Uint8Array): ParsedFrame[] {
  let rest = Buffer.from(bytes);
  if (rest.indexOf(PREFACE) === 0) rest = rest.subarray(PREFACE.length);
  const frames: ParsedFrame[] = [];
  while (rest.length >= FRAME_HEADER_BYTES) {
    const end = FRAME_HEADER_BYTES + rest.readUIntBE(0, 3);
    frames.push({
      type: rest.readUInt8(3),
      flags: rest.readUInt8(4),
      streamId: rest.readUInt32BE(5),
      payload: rest.subarray(FRAME_HEADER_BYTES, end),
    });
    rest = rest.subarray(end);
  }
  return frames;
}
