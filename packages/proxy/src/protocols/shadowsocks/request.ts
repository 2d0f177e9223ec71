import type { Endpoint } from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import { GrowingBytes } from '@weir/base/bytes';
import { SMALL_PIECE } from '@weir/io/bounds';
import type { ByteLink } from '@weir/io/links';
import type { ChunkOpener } from './chunks.ts';
import type { KeyedUser, ShadowsocksUsers } from './shadowsocks-users.ts';

/** The request of an authenticated client, and the state of its stream. */
export interface Request {
  readonly user: KeyedUser;
  /** The salt of the request stream. */
  readonly salt: Uint8Array;
  readonly destination: Endpoint;
  /** The payload that followed the destination. */
  readonly payload: Uint8Array;
  /** Opens the rest of the stream. */
  readonly opener: ChunkOpener;
}

/** The source of a request, read until `signal` aborts. */
export interface RequestSource {
  readonly link: ByteLink;
  readonly signal: AbortSignal;
  readonly users: ShadowsocksUsers;
}

const NOTHING = Buffer.alloc(0);

/**
 * Reads until there are at least `length` bytes.
 *
 * @param head bytes that were read before.
 * @returns `head` and all bytes read after it, which may be more than `length`.
 * @throws {ProtocolError} at the end of the stream.
 */
export async function readAtLeast(
  { link, signal }: Pick<RequestSource, 'link' | 'signal'>,
  length: number,
  head: Buffer = NOTHING,
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

/** Opens the first bytes after a request, and leaves the rest to the stream, which shares its turns. */
export function pushFirst(
  { link }: Pick<RequestSource, 'link'>,
  opener: ChunkOpener,
  bytes: Uint8Array,
): Uint8Array {
  link.unread(bytes.subarray(SMALL_PIECE));
  return opener.push(bytes.subarray(0, SMALL_PIECE));
}

const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
