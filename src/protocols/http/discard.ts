import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import { DeadlineError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { createDecoder, type Framing } from './body.ts';
import { MessageError } from './errors.ts';
import { DRAIN_LIMIT, DRAIN_MS, LINGER_MS } from './limits.ts';

/** Whether it is worth trying to read over a body that nobody wants. */
export const isDrainable = (framing: Framing): boolean =>
  framing.kind !== 'length' || framing.length <= DRAIN_LIMIT;

/**
 * Reads over a request body, so that the next request can be read; `false` when it is broken, too
 * long or too slow for that.
 */
export async function drainBody(link: ByteLink, framing: Framing, clock: Clock): Promise<boolean> {
  const decoder = createDecoder(framing);
  if (decoder.done) return true;
  using deadline = new Deadline(clock, DRAIN_MS, 'the rest of a refused request');
  let taken = 0;
  try {
    while (!decoder.done && taken <= DRAIN_LIMIT) {
      const chunk = await link.read(deadline.signal);
      if (chunk === undefined) return false;
      const used = decoder.push(chunk, []);
      taken += used;
      if (used < chunk.length) link.unread(chunk.subarray(used));
    }
    return decoder.done;
  } catch (error) {
    if (error instanceof MessageError || error instanceof DeadlineError) return false;
    throw error;
  }
}

/**
 * Closes a connection so that the last answer arrives: the end of this side first, then what the
 * client still sends is read until it has closed as well, for a bounded time. A socket that is
 * closed over unread bytes is reset, and the reset can overtake the answer (RFC 9112 §9.6).
 */
export async function closeGently(link: ByteLink, clock: Clock): Promise<void> {
  const timer = clock.after(LINGER_MS, () => link.destroy());
  try {
    await link.closeWrite();
    while ((await link.read()) !== undefined);
    link.destroy();
  } catch (error) {
    // The client left without reading to the end, or lingers too long: it is past caring.
    link.destroy(error instanceof Error ? error : undefined);
  } finally {
    timer.cancel();
  }
}
