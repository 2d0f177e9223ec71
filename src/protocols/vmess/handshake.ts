import { BoundedReader } from '../../net/bounded-reader.ts';
import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import type { ByteLink } from '../../net/link.ts';
import { MAX_REQUEST, readRequest, type Identify } from './request.ts';
import type { RequestHeader } from './request-header.ts';

/** How long a client may take to make its request. */
export const HANDSHAKE_MS = 10_000;

/**
 * Reads the request of a connection. Bytes after it are the link's again.
 *
 * Whoever is turned away cannot tell at which byte or for what reason: what comes is read and thrown
 * away until the time for the request has passed, just as when the request were not complete, or
 * until the client closes. Then this rejects with what was wrong, of which `onRefusal` hears at once.
 *
 * @throws {ProtocolError} for what is no request.
 * @throws {DeadlineError} for one that is not complete in time.
 */
export async function receiveRequest(
  link: ByteLink,
  clock: Clock,
  identify: (authId: Uint8Array, signal: AbortSignal) => ReturnType<Identify>,
  onRefusal: (error: unknown) => void,
): Promise<RequestHeader> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, 'the VMess request');
  const { signal } = deadline;
  const reader = new BoundedReader(link, MAX_REQUEST, signal);
  try {
    const request = await readRequest(reader, (authId) => identify(authId, signal));
    reader.release();
    return request;
  } catch (error) {
    onRefusal(error);
    await drain(link, signal);
    throw error;
  }
}

/** Reads until the peer has closed or `signal` aborts; never rejects. */
async function drain(link: ByteLink, signal: AbortSignal): Promise<void> {
  try {
    while ((await link.read(signal)) !== undefined);
  } catch {
    // It was cut, or the time is over: whoever closes the link goes on from here.
  }
}
