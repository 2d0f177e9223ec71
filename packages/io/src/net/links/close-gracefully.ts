import type { Clock } from '../time/clock.ts';
import { Deadline } from '../time/deadline.ts';
import type { ByteLink } from './link.ts';
import { abortReason } from '../time/unless-aborted.ts';
import { REJECTED_CLIENT_MS } from '../time/time-limits.ts';

const MAX_DRAINED_BYTES = 64 * 1024;

export interface GracefulCloseOptions {
  /** Bytes sent before the end of stream. */
  readonly response?: Uint8Array;
  /** Milliseconds until the link is destroyed. */
  readonly limitMs?: number;
  /** Bytes that are read and dropped before the link is destroyed. */
  readonly limitBytes?: number;
}

/**
 * Closes a connection so that the last response arrives: half-closes it, then reads and discards until the peer has
 * closed as well, within limits; by default those for a rejected client. Closing a socket over unread bytes resets the
 * connection, and the reset can overtake the response (RFC 9112 §9.6). The link is destroyed when this resolves. Never
 * rejects.
 */
export async function closeGracefully(
  link: ByteLink,
  clock: Clock,
  {
    response,
    limitMs = REJECTED_CLIENT_MS,
    limitBytes = MAX_DRAINED_BYTES,
  }: GracefulCloseOptions = {},
): Promise<void> {
  using deadline = new Deadline(clock, limitMs, 'closing the connection');
  const { signal } = deadline;
  const onAbort = (): void => link.destroy(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (response) await link.write(response);
    await link.closeWrite();
    for (let left = limitBytes; left > 0;) {
      const chunk = await link.read(signal);
      if (chunk === undefined) break;
      left -= chunk.length;
    }
    link.destroy();
  } catch (error) {
    // The peer has already closed or reset the connection, or the time limit has passed.
    link.destroy(error instanceof Error ? error : undefined);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
