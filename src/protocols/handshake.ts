import { BoundedReader } from '../net/bounded-reader.ts';
import type { Clock } from '../net/clock.ts';
import { closeGracefully } from '../net/close-gracefully.ts';
import { Deadline } from '../net/deadline.ts';
import type { ByteLink } from '../net/link.ts';
import { HANDSHAKE_MS } from '../net/time-limits.ts';

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
 * A client whose message is invalid is rejected without a response, whatever the error: its stream
 * is drained before the connection is closed, since a reset at the first invalid byte would show
 * where the server stopped reading. Then this rejects with the error.
 */
export async function readHandshake<T>(
  link: ByteLink,
  { clock, limit, protocol, onRejected }: HandshakeOptions,
  read: (reader: BoundedReader) => Promise<T>,
): Promise<T> {
  try {
    using deadline = new Deadline(clock, HANDSHAKE_MS, `the ${protocol} handshake`);
    const reader = new BoundedReader(link, limit, deadline.signal);
    const result = await read(reader);
    reader.release();
    return result;
  } catch (error) {
    onRejected(error);
    await closeGracefully(link, clock);
    throw error;
  }
}
