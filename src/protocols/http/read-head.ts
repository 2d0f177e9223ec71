import type { ByteLink } from '../../net/link.ts';
import { MessageError } from './errors.ts';
import { isToken } from './fields.ts';
import { HeadScanner } from './head-scanner.ts';
import { HEAD_LIMIT } from './limits.ts';

export interface HeadBytes {
  readonly bytes: Uint8Array;
  /** Whether bytes came after the head with it; they are back in the link. */
  readonly followed: boolean;
}

const TOKEN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  isToken(String.fromCharCode(byte)) ? 1 : 0,
);

/** What begins a request line. */
export const startsRequest = (byte: number): boolean => TOKEN_BYTES[byte] === 1;

/** What begins a status line: the H of HTTP. */
export const startsResponse = (byte: number): boolean => byte === 0x48;

/**
 * Reads one message head from a link and leaves what follows it there; `undefined` when the peer
 * ended before its start line began.
 *
 * @throws {MessageError} 400 for a cut or impossible head, 431 for one beyond the limit.
 */
export async function readHead(
  link: ByteLink,
  startsWell: (byte: number) => boolean,
  signal?: AbortSignal,
): Promise<HeadBytes | undefined> {
  const scanner = new HeadScanner(HEAD_LIMIT, startsWell);
  for (;;) {
    const chunk = await link.read(signal);
    if (chunk === undefined) {
      if (!scanner.started) return undefined;
      throw new MessageError(400, 'the peer closed in the middle of a message head');
    }
    const used = scanner.push(chunk);
    if (used === undefined) continue;
    const followed = used < chunk.length;
    if (followed) link.unread(chunk.subarray(used));
    return { bytes: scanner.head, followed };
  }
}
