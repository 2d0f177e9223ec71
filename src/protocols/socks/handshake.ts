import { BoundedReader } from '../../net/bounded-reader.ts';
import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import type { ByteLink } from '../../net/link.ts';
import { abortReason } from '../../net/read-queue.ts';
import { HANDSHAKE_MS } from '../../net/time-limits.ts';

/** The longest message is a user name and a password of 255 bytes each. */
const HANDSHAKE_BYTES = 1024;

/** One side of a conversation before the payload begins. */
export interface Conversation {
  readonly reader: BoundedReader;
  /** Sends one message. */
  readonly say: (message: Uint8Array) => Promise<void>;
}

/**
 * Holds a conversation on `link` under one time limit. When it passes, or `parent` aborts, the link
 * is destroyed and whatever waits on it rejects with the reason. Bytes that came after the
 * conversation are the link's again.
 */
export async function converse<T>(
  link: ByteLink,
  clock: Clock,
  talk: (conversation: Conversation) => Promise<T>,
  parent?: AbortSignal,
): Promise<T> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, 'the SOCKS handshake', parent);
  const { signal } = deadline;
  const cut = (): void => link.destroy(abortReason(signal));
  if (signal.aborted) cut();
  else signal.addEventListener('abort', cut, { once: true });
  const reader = new BoundedReader(link, HANDSHAKE_BYTES, signal);
  try {
    const result = await talk({ reader, say: (message) => say(link, message) });
    reader.release();
    return result;
  } finally {
    signal.removeEventListener('abort', cut);
  }
}

/** Writes one message and waits for room. */
export async function say(link: ByteLink, message: Uint8Array): Promise<void> {
  await link.write(message);
}
