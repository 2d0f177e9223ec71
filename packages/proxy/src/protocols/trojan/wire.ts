import {
  encodeAddressField,
  readAddressField,
  SOCKS_ADDRESS,
  type Endpoint,
} from '@weir/io/addresses';
import type { BoundedReader } from '@weir/io/links';
import { ProtocolError } from '@weir/io';

/**
 * The request of the Trojan protocol (trojan-gfw, `docs/protocol.md`):
 * hex(SHA-224(password)) CRLF command address CRLF, then payload.
 */

export const Command = { connect: 1, associate: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** The length of a key: SHA-224 in hex. */
export const KEY_BYTES = 56;

export const CRLF: Uint8Array = Uint8Array.of(0x0d, 0x0a);

/** The longest request: a key, a name of 255 bytes, and the fields around them. */
export const MAX_TROJAN_REQUEST = 512;

/** Encodes a request; `undefined` when the host does not fit. */
export function encodeRequest(
  key: Uint8Array,
  command: Command,
  destination: Endpoint,
): Buffer | undefined {
  const address = encodeAddressField(destination, SOCKS_ADDRESS);
  return address && Buffer.concat([key, CRLF, Uint8Array.of(command), address, CRLF]);
}

/** The part of a request after its key. */
export interface TrojanRequest {
  readonly command: Command;
  readonly destination: Endpoint;
}

/**
 * Reads a request after its key.
 * @throws {ProtocolError} when it is malformed.
 */
export async function readTrojanRequest(reader: BoundedReader): Promise<TrojanRequest> {
  await readCrlf(reader);
  const command = await reader.byte();
  if (command !== Command.connect && command !== Command.associate) {
    throw new ProtocolError(`trojan: unknown command ${command}`);
  }
  const destination = await readAddressField(reader, SOCKS_ADDRESS);
  await readCrlf(reader);
  return { command, destination };
}

async function readCrlf(reader: BoundedReader): Promise<void> {
  if (!(await reader.bytes(CRLF.length)).equals(CRLF)) {
    throw new ProtocolError('trojan: expected CRLF');
  }
}
