import { BoundedReader } from '../../net/links/bounded-reader.ts';
import type { Clock } from '../../net/time/clock.ts';
import { closeGracefully } from '../../net/links/close-gracefully.ts';
import { Deadline } from '../../net/time/deadline.ts';
import type { ByteLink } from '../../net/links/link.ts';
import { HANDSHAKE_MS } from '../../net/time/time-limits.ts';

export interface HandshakeOptions {
  readonly clock: Clock;
  /** Bytes of the longest first message. */
  readonly limit: number;
  /** Name of the protocol, for the error of a deadline that passed. */
  readonly protocol: string;
  /** Called with the reason as soon as a client is rejected. */
  readonly onRejected: (error: unknown) => void;
}

/**
 * Reads a client's first message under one time limit. Bytes after it are put back into the link.
 *
 * A client whose message is invalid is rejected without a response, whatever the error, and in the
 * same way as one whose message is incomplete: its bytes are read and discarded until the time for
 * the handshake is over or it closes, and only then does the stream end. Whatever ended or was reset
 * earlier would show where the server stopped reading. Then this rejects with the error.
 */
export async function readHandshake<T>(
  link: ByteLink,
  { clock, limit, protocol, onRejected }: HandshakeOptions,
  read: (reader: BoundedReader) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, `the ${protocol} handshake`);
  const { signal } = deadline;
  try {
    const reader = new BoundedReader(link, limit, signal);
    const result = await read(reader);
    reader.release();
    return result;
  } catch (error) {
    onRejected(error);
    await drain(link, signal);
    await closeGracefully(link, clock);
    throw error;
  }
}

/** Reads and discards until the client has closed or `signal` aborts. Never rejects. */
export async function drain(link: ByteLink, signal: AbortSignal): Promise<void> {
  try {
    while ((await link.read(signal)) !== undefined);
  } catch {
    // The link failed, or the time is over: the caller closes the link.
  }
}
