import { decodeAddressField, encodeAddressField, V2RAY_ADDRESS } from '../net/address-field.ts';
import type { Endpoint, Network } from '../net/address.ts';
import { ProtocolError } from '../net/errors.ts';

/**
 * Frames of Mux.Cool (v2fly, `docs/developer/protocols/muxcool.md`; Xray-core,
 * `common/mux/frame.go`): length of the head, head (id, status, options, and with New or XUDP a
 * network and an address), then, when the options say so, length of the data, and data.
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

/** Id, status and options stand in every head. */
const FIXED_BYTES = 4;
/** XUDP puts an id of the client's socket behind the address of a new flow. */
const GLOBAL_ID_BYTES = 8;

/** The longest head that anybody takes. */
export const HEAD_LIMIT = 512;

/** What a frame says beside its data. */
export type FrameHead = { readonly id: number; readonly hasData: boolean } & (
  | {
      readonly status: typeof Status.create;
      readonly network: Network;
      /** `undefined` when the destination has a name that is none. */
      readonly destination: Endpoint | undefined;
      /** Whether datagrams of this flow carry addresses of their own (XUDP). */
      readonly addressed: boolean;
    }
  | {
      readonly status: typeof Status.keep;
      /** Where a datagram of XUDP goes; `undefined` where none is named. */
      readonly peer: Endpoint | undefined;
    }
  | { readonly status: typeof Status.end; readonly failed: boolean }
  | { readonly status: typeof Status.keepAlive }
);

/**
 * Reads the head of a frame without the length before it.
 * @throws {ProtocolError} when it is none.
 */
export function decodeHead(head: Uint8Array): FrameHead {
  if (head.length < FIXED_BYTES) throw new ProtocolError('mux: the head of a frame is too short');
  const [high = 0, low = 0, status = 0, options = 0] = head;
  const common = { id: (high << 8) | low, hasData: (options & HAS_DATA) !== 0 };
  switch (status) {
    case Status.create:
      return { ...common, status, ...decodeDestination(head) };
    case Status.keep:
      return { ...common, status, peer: decodePeer(head) };
    case Status.end:
      return { ...common, status, failed: (options & HAS_ERROR) !== 0 };
    case Status.keepAlive:
      return { ...common, status };
    default:
      throw new ProtocolError(`mux: unknown status ${status}`);
  }
}

function decodeDestination(head: Uint8Array): {
  readonly network: Network;
  readonly destination: Endpoint | undefined;
  readonly addressed: boolean;
} {
  const network = NETWORKS.get(head[FIXED_BYTES] ?? 0);
  if (!network) throw new ProtocolError('mux: a new flow of an unknown network');
  const field = decodeAddressField(head, FIXED_BYTES + 1, V2RAY_ADDRESS);
  if (!field) throw new ProtocolError('mux: a new flow without a whole address');
  const addressed = network === 'udp' && head.length >= field.end + GLOBAL_ID_BYTES;
  return { network, destination: field.endpoint, addressed };
}

/** Behind anything but the octet of UDP there may be padding, which means nothing. */
function decodePeer(head: Uint8Array): Endpoint | undefined {
  if (head[FIXED_BYTES] !== UDP) return undefined;
  const field = decodeAddressField(head, FIXED_BYTES + 1, V2RAY_ADDRESS);
  if (!field) throw new ProtocolError('mux: a datagram without a whole address');
  return field.endpoint;
}

/** The end of a flow's direction, or of the whole flow when it failed. */
export const encodeEnd = (id: number, failed: boolean): Uint8Array =>
  Uint8Array.of(0, FIXED_BYTES, id >> 8, id & 0xff, Status.end, failed ? HAS_ERROR : 0);

/** What stands before `length` bytes of a stream; at most 65,535. */
export function encodeStreamHead(id: number, length: number): Uint8Array {
  const head = Buffer.of(0, FIXED_BYTES, 0, 0, Status.keep, HAS_DATA, 0, 0);
  head.writeUInt16BE(id, 2);
  head.writeUInt16BE(length, 6);
  return head;
}

/**
 * What stands before a datagram of `length` bytes, with its source where the client reads sources;
 * `undefined` when that has a name that does not fit.
 */
export function encodePacketHead(
  id: number,
  length: number,
  source: Endpoint | undefined,
): Uint8Array | undefined {
  if (!source) return encodeStreamHead(id, length);
  const address = encodeAddressField(source, V2RAY_ADDRESS);
  if (!address) return undefined;
  const head = Buffer.allocUnsafe(7 + address.length + 2);
  head.writeUInt16BE(FIXED_BYTES + 1 + address.length, 0);
  head.writeUInt16BE(id, 2);
  head.set([Status.keep, HAS_DATA, UDP], 4);
  head.set(address, 7);
  head.writeUInt16BE(length, 7 + address.length);
  return head;
}
