import {
  decodeAddressField,
  encodeAddressField,
  type Endpoint,
  type Network,
  V2RAY_ADDRESS,
} from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import { ByteQueue } from '@weir/base/bytes';

/**
 * Frames of Mux.Cool (v2fly, `docs/developer/protocols/muxcool.md`; Xray-core,
 * `common/mux/frame.go`): length of the header, header (id, status, options, and with New or XUDP a
 * network and an address), then, if the options have the bit, length of the data, and data.
 */

export const Status = { create: 1, keep: 2, end: 3, keepAlive: 4 } as const;
export type Status = (typeof Status)[keyof typeof Status];

/** Bits of the options. */
const HAS_DATA = 1;
const HAS_ERROR = 2;

const NETWORKS: ReadonlyMap<number, Network> = new Map([
  [1, 'tcp'],
  [2, 'udp'],
]);
const UDP = 2;

/** Id, status and options are in every header. */
const FIXED_BYTES = 4;
/** Bytes of the id of the client's socket that XUDP appends to the address of a new flow. */
const GLOBAL_ID_BYTES = 8;

/** The longest header that implementations accept. */
export const HEADER_LIMIT = 512;

/** The header of a frame. */
export type FrameHeader = { readonly id: number; readonly hasData: boolean } & (
  | {
      readonly status: typeof Status.create;
      readonly network: Network;
      /** `undefined` when the host name is invalid. */
      readonly destination: Endpoint | undefined;
      /** Whether each datagram of this flow carries an address (XUDP). */
      readonly addressed: boolean;
    }
  | {
      readonly status: typeof Status.keep;
      /** The destination of an XUDP datagram; `undefined` without an address. */
      readonly peer: Endpoint | undefined;
    }
  | { readonly status: typeof Status.end; readonly failed: boolean }
  | { readonly status: typeof Status.keepAlive }
);

/**
 * Decodes a frame header without the length before it.
 * @throws {ProtocolError} for an invalid header.
 */
export function decodeHeader(header: Uint8Array): FrameHeader {
  if (header.length < FIXED_BYTES) throw new ProtocolError('mux: a frame header is too short');
  const [high = 0, low = 0, status = 0, options = 0] = header;
  const common = { id: (high << 8) | low, hasData: (options & HAS_DATA) !== 0 };
  switch (status) {
    case Status.create:
      return { ...common, status, ...decodeDestination(header) };
    case Status.keep:
      return { ...common, status, peer: decodePeer(header) };
    case Status.end:
      return { ...common, status, failed: (options & HAS_ERROR) !== 0 };
    case Status.keepAlive:
      return { ...common, status };
    default:
      throw new ProtocolError(`mux: unknown status ${status}`);
  }
}

function decodeDestination(header: Uint8Array): {
  readonly network: Network;
  readonly destination: Endpoint | undefined;
  readonly addressed: boolean;
} {
  const network = NETWORKS.get(header[FIXED_BYTES] ?? 0);
  if (!network) throw new ProtocolError('mux: a new flow has an unknown network');
  const field = decodeAddressField(header, FIXED_BYTES + 1, V2RAY_ADDRESS);
  if (!field) throw new ProtocolError('mux: the address of a new flow is truncated');
  const addressed = network === 'udp' && header.length >= field.end + GLOBAL_ID_BYTES;
  return { network, destination: field.endpoint, addressed };
}

/** Decodes the address after the network byte, if any. Padding may follow any network but UDP. */
function decodePeer(header: Uint8Array): Endpoint | undefined {
  if (header[FIXED_BYTES] !== UDP) return undefined;
  const field = decodeAddressField(header, FIXED_BYTES + 1, V2RAY_ADDRESS);
  if (!field) throw new ProtocolError('mux: the address of a datagram is truncated');
  return field.endpoint;
}

/** Encodes End: one direction of a flow has ended, or the whole flow when it failed. */
export const encodeEnd = (id: number, failed: boolean): Uint8Array =>
  Uint8Array.of(0, FIXED_BYTES, id >> 8, id & 0xff, Status.end, failed ? HAS_ERROR : 0);

/** Encodes the header before `length` bytes of a stream; at most 65,535. */
export function encodeStreamHeader(id: number, length: number): Uint8Array {
  const header = Buffer.of(0, FIXED_BYTES, 0, 0, Status.keep, HAS_DATA, 0, 0);
  header.writeUInt16BE(id, 2);
  header.writeUInt16BE(length, 6);
  return header;
}

/**
 * Encodes the header before a datagram of `length` bytes, with its source if the client uses XUDP;
 * `undefined` when the source cannot be encoded.
 */
export function encodePacketHeader(
  id: number,
  length: number,
  source: Endpoint | undefined,
): Uint8Array | undefined {
  if (!source) return encodeStreamHeader(id, length);
  const address = encodeAddressField(source, V2RAY_ADDRESS);
  if (!address) return undefined;
  const header = Buffer.allocUnsafe(7 + address.length + 2);
  header.writeUInt16BE(FIXED_BYTES + 1 + address.length, 0);
  header.writeUInt16BE(id, 2);
  header.set([Status.keep, HAS_DATA, UDP], 4);
  header.set(address, 7);
  header.writeUInt16BE(length, 7 + address.length);
  return header;
}

/** A part of a stream of frames. */
export type MuxFrameEvent =
  /** The header of a frame; `length` bytes of data follow. */
  | { readonly kind: 'header'; readonly header: FrameHeader; readonly length: number }
  /** The next bytes of the frame's data; `last` when they complete it. */
  | { readonly kind: 'data'; readonly bytes: Uint8Array; readonly last: boolean };

const LENGTH_BYTES = 2;

/**
 * Decodes frames incrementally. Data is passed on in the pieces in which it was received, so that only
 * headers are kept.
 */
export class MuxFrameDecoder {
  readonly #queue = new ByteQueue();
  #header: FrameHeader | undefined;
  /** Bytes that remain of the current frame's data. */
  #left = 0;

  /**
   * Decodes a chunk. The generator must be exhausted before the next chunk.
   * @throws {ProtocolError} for an invalid frame.
   */
  *decode(chunk: Uint8Array): Generator<MuxFrameEvent, void, void> {
    this.#queue.push(chunk);
    for (;;) {
      const event = this.#left > 0 ? this.#data() : this.#frame();
      if (!event) return;
      yield event;
    }
  }

  #data(): MuxFrameEvent | undefined {
    const bytes = this.#queue.takeSome(this.#left);
    if (!bytes) return undefined;
    this.#left -= bytes.length;
    return { kind: 'data', bytes, last: this.#left === 0 };
  }

  #frame(): MuxFrameEvent | undefined {
    this.#header ??= this.#takeHeader();
    const header = this.#header;
    if (!header) return undefined;
    if (header.hasData) {
      const length = this.#queue.take(LENGTH_BYTES);
      if (!length) return undefined;
      this.#left = readLength(length);
    }
    this.#header = undefined;
    return { kind: 'header', header, length: this.#left };
  }

  #takeHeader(): FrameHeader | undefined {
    const prefix = this.#queue.peek(LENGTH_BYTES);
    if (!prefix) return undefined;
    const length = readLength(prefix);
    if (length > HEADER_LIMIT) throw new ProtocolError(`mux: a frame header has ${length} bytes`);
    const bytes = this.#queue.take(LENGTH_BYTES + length);
    return bytes && decodeHeader(bytes.subarray(LENGTH_BYTES));
  }
}

const readLength = ([high = 0, low = 0]: Uint8Array): number => (high << 8) | low;
