import type { Endpoint } from '../../net/addresses/address.ts';
import { ProtocolError } from '../../net/errors.ts';
import { GrowingBytes } from '../../collections/growing-bytes.ts';
import type { ByteLink } from '../../net/links/link.ts';
import type { ChunkOpener } from './chunks.ts';
import type { KeyedUser, ShadowsocksUsers } from './shadowsocks-users.ts';

/** The request of an authenticated client, with the stream opened as far as it was read. */
export interface Request {
  readonly user: KeyedUser;
  /** Of the request stream. */
  readonly salt: Uint8Array;
  readonly destination: Endpoint;
  /** The payload that followed the destination. */
  readonly payload: Uint8Array;
  /** Opens the rest of the stream. */
  readonly opener: ChunkOpener;
}

/** What a request is read from, until `signal` aborts. */
export interface RequestSource {
  readonly link: ByteLink;
  readonly signal: AbortSignal;
  readonly users: ShadowsocksUsers;
}

/**
 * Reads until at least `length` bytes are held.
 *
 * @param head bytes that were read before.
 * @returns `head` and all bytes after it that were received with them.
 * @throws {ProtocolError} at the end of the stream.
 */
export async function readAtLeast(
  { link, signal }: RequestSource,
  head: Buffer,
  length: number,
): Promise<Buffer> {
  let held = head;
  let grown: GrowingBytes | undefined;
  while (held.length < length) {
    const chunk = await link.read(signal);
    if (!chunk) throw new ProtocolError('shadowsocks: the request is truncated');
    if (held.length === 0) {
      held = viewOf(chunk);
      continue;
    }
    if (!grown) {
      grown = new GrowingBytes();
      grown.append(held);
    }
    grown.append(chunk);
    held = viewOf(grown.bytes);
  }
  return held;
}

const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
