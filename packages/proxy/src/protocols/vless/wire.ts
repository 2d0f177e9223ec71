import {
  encodeAddressField,
  type Endpoint,
  mayRespondFor,
  readAddressField,
  V2RAY_ADDRESS,
} from '@weir/io/addresses';
import type { BoundedReader, Packet } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import { ByteQueue } from '@weir/base/bytes';
import type { PacketFraming } from '@weir/io/layers';
import { RejectedClientError } from '../inbounds/handshake.ts';

/**
 * The messages of VLESS (Xray-core, `proxy/vless/encoding`). A request is version, UUID, addons,
 * command and address, then payload; a response is version and addons, then payload.
 */

export const VLESS_VERSION = 0;
export const ID_BYTES = 16;

export const Command = { tcp: 1, udp: 2, mux: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** The longest request: addons and a name of 255 bytes each. */
export const MAX_VLESS_REQUEST = 1024;

/** The header of a response: version, no addons. */
export const RESPONSE_HEADER: Uint8Array = Uint8Array.of(VLESS_VERSION, 0);

/** Returns the prefix of a request without addons, up to the address. */
export const requestPrefix = (
  id: Uint8Array,
  command: typeof Command.tcp | typeof Command.udp,
): Uint8Array => Uint8Array.of(VLESS_VERSION, ...id, 0, command);

/**
 * Encodes a request; `undefined` when the host does not fit.
 *
 * @param prefix the result of `requestPrefix`.
 */
export const encodeRequest = (prefix: Uint8Array, destination: Endpoint): Buffer | undefined =>
  encodeAddressField(destination, V2RAY_ADDRESS, prefix);

/** The part of a request after its id. */
export type VlessRequest =
  | { readonly command: typeof Command.tcp | typeof Command.udp; readonly destination: Endpoint }
  | { readonly command: typeof Command.mux };

/**
 * Reads a request after its id.
 * @throws {ProtocolError} when it is malformed or requests an unsupported feature.
 */
export async function readVlessRequest(reader: BoundedReader): Promise<VlessRequest> {
  const addons = await reader.bytes(await reader.byte());
  if (namesFlow(addons))
    throw new RejectedClientError(
      'vless: the client asks for a flow (such as xtls-rprx-vision), which Weir does not support: leave "flow" empty in the client',
    );
  const command = await reader.byte();
  switch (command) {
    case Command.tcp:
    case Command.udp:
      return { command, destination: await readAddressField(reader, V2RAY_ADDRESS) };
    case Command.mux:
      return { command };
    default:
      throw new ProtocolError(`vless: unknown command ${command}`);
  }
}

/**
 * The tag of field 1, the flow, in the Protocol Buffers message of addons: a string that changes the format of payload.
 */
const FLOW_TAG = 0x0a;

/**
 * Whether addons name a flow. Other fields may be ignored, but not a flow: its payload would be mistaken for plain
 * bytes.
 */
const namesFlow = ([tag, length]: Uint8Array): boolean => tag === FLOW_TAG && length !== 0;

const LENGTH_BYTES = 2;
const MAX_DATA = 0xffff;

/** Datagrams in a VLESS stream: length and data, all with the peer that the request names. */
export class VlessFraming implements PacketFraming {
  readonly #peer: Endpoint;
  readonly #queue = new ByteQueue();

  constructor(peer: Endpoint) {
    this.#peer = peer;
  }

  *decode(chunk: Uint8Array): Iterable<Packet> {
    this.#queue.push(chunk);
    for (;;) {
      const head = this.#queue.peek(LENGTH_BYTES);
      if (!head) return;
      const length = ((head[0] ?? 0) << 8) | (head[1] ?? 0);
      if (this.#queue.length < LENGTH_BYTES + length) return;
      this.#queue.take(LENGTH_BYTES);
      const data = this.#queue.take(length);
      if (data) yield { data, peer: this.#peer };
    }
  }

  encode({ data, peer }: Packet): readonly Uint8Array[] | undefined {
    if (data.length > MAX_DATA || !mayRespondFor(this.#peer, peer)) return undefined;
    return [Uint8Array.of(data.length >> 8, data.length & 0xff), data];
  }
}
