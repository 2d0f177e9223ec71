import { WeirError } from '../../errors.ts';
import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import type { ByteLink } from '../../net/link.ts';
import { abortReason } from '../../net/read-queue.ts';
import { say } from './handshake.ts';

/** A client that is turned away with an answer of its protocol. */
export class SocksRefusal extends WeirError {
  /** What the client is told before the connection ends. */
  readonly answer: Uint8Array;

  constructor(answer: Uint8Array, message: string, options?: ErrorOptions) {
    super('socks_refused', message, options);
    this.answer = answer;
  }
}

const FAREWELL_MS = 2_000;
const FAREWELL_BYTES = 64 * 1024;

/**
 * Sends a last answer and ends the connection so that the client can read it: closing while bytes
 * of the client are unread would reset the connection, and the reset may overtake the answer.
 * Never rejects.
 */
export async function farewell(link: ByteLink, answer: Uint8Array, clock: Clock): Promise<void> {
  using limit = new Deadline(clock, FAREWELL_MS, 'the end of a refused connection');
  const { signal } = limit;
  const cut = (): void => link.destroy(abortReason(signal));
  signal.addEventListener('abort', cut, { once: true });
  try {
    await say(link, answer);
    await link.closeWrite();
    let left = FAREWELL_BYTES;
    while (left > 0) {
      const chunk = await link.read(signal);
      if (chunk === undefined) break;
      left -= chunk.length;
    }
  } catch {
    // The client went first, or would not go: nobody is left to tell.
  } finally {
    signal.removeEventListener('abort', cut);
  }
}
