import { BoundedReader } from '../net/bounded-reader.ts';
import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import type { ByteLink } from '../net/link.ts';

/** How long a client may take to say who it is and what it wants. */
export const HANDSHAKE_MS = 10_000;

/** What a client that is turned away may still send, and for how long. */
const LEAVING_MS = 2_000;
const LEAVING_BYTES = 64 * 1024;

/** What reading a client's first message needs to know. */
export interface HandshakeOptions {
  readonly clock: Clock;
  /** The longest first message. */
  readonly limit: number;
  /** Of which protocol it is, for the text of a deadline that passed. */
  readonly protocol: string;
  /** Told at once why a client is turned away. */
  readonly onRefusal: (error: unknown) => void;
}

/**
 * Reads a client's first message under one time limit. Bytes after it are the link's again.
 *
 * A client that did not say what it should is turned away in silence, whatever it did wrong: see
 * `turnAway`. Then this rejects with what was wrong.
 */
export async function readHandshake<T>(
  link: ByteLink,
  { clock, limit, protocol, onRefusal }: HandshakeOptions,
  read: (reader: BoundedReader) => Promise<T>,
): Promise<T> {
  try {
    using deadline = new Deadline(clock, HANDSHAKE_MS, `the ${protocol} handshake`);
    const reader = new BoundedReader(link, limit, deadline.signal);
    const result = await read(reader);
    reader.release();
    return result;
  } catch (error) {
    onRefusal(error);
    await turnAway(link, clock);
    throw error;
  }
}

/**
 * Ends a connection without an answer, as any server does that hangs up: closing while bytes of
 * the client are unread would reset it, and only a server that had understood part of them would
 * stop reading just there. Never rejects.
 */
export async function turnAway(link: ByteLink, clock: Clock): Promise<void> {
  using limit = new Deadline(clock, LEAVING_MS, 'the end of a refused connection');
  const cut = (): void => link.destroy();
  limit.signal.addEventListener('abort', cut, { once: true });
  try {
    await link.closeWrite();
    let left = LEAVING_BYTES;
    while (left > 0) {
      const chunk = await link.read(limit.signal);
      if (chunk === undefined) break;
      left -= chunk.length;
    }
  } catch {
    // The client went first, or would not go.
  } finally {
    limit.signal.removeEventListener('abort', cut);
    link.destroy();
  }
}
