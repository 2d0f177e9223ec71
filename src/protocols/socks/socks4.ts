import type { Endpoint } from '../../net/address.ts';
import type { BoundedReader } from '../../net/bounded-reader.ts';
import { ProtocolError } from '../../net/errors.ts';
import { decodeName } from '../../net/host-name.ts';
import { AddressType, decodeHost } from './address.ts';
import { SocksRefusal } from './refusal.ts';
import { Command, encodeReply, Reply, SOCKS4 } from './wire.ts';

const NUL = Uint8Array.of(0);
const TEXT_LIMIT = 255;

/**
 * Reads a SOCKS4 or SOCKS4a request after its version octet and gives the destination.
 *
 * The user id is an unproved claim, so it is read and forgotten.
 * @throws {SocksRefusal} for anything but CONNECT and for a bad name.
 */
export async function readSocks4(reader: BoundedReader): Promise<Endpoint> {
  const head = await reader.bytes(7);
  const command = head.readUInt8(0);
  const port = head.readUInt16BE(1);
  const address = head.subarray(3);
  await readText(reader, 'user id');
  const host = isNameMarker(address)
    ? decodeName(await readText(reader, 'host name'))
    : decodeHost(AddressType.ipv4, address);
  if (command !== Command.connect) throw refusal(`SOCKS4 command ${command} is not supported`);
  if (host === undefined) throw refusal('the SOCKS4a host name is empty or has bytes of no name');
  return { host, port };
}

/** SOCKS4a: the address 0.0.0.x with x other than 0 says that a name follows. */
function isNameMarker(address: Uint8Array): boolean {
  return address[0] === 0 && address[1] === 0 && address[2] === 0 && address[3] !== 0;
}

async function readText(reader: BoundedReader, what: string): Promise<Buffer> {
  const text = await reader.until(NUL);
  // Checked here too, since a long text that came in one piece never met the reader's own bound.
  if (text.length > TEXT_LIMIT) throw new ProtocolError(`the ${what} is longer than 255 bytes`);
  return text;
}

const refusal = (message: string): SocksRefusal =>
  new SocksRefusal(encodeReply(SOCKS4, Reply.failure), message);
