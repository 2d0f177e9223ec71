import {
  decodeAddressField,
  encodeAddressField,
  V2RAY_ADDRESS,
  type Endpoint,
  type Network,
} from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';

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
