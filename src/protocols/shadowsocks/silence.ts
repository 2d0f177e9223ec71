import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import { ProtocolError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';

/**
 * Reads what a stranger sends and forgets it, until he goes or the time has passed; then the
 * connection is reset, whatever is unread. So nothing that he sees depends on how many of his bytes
 * were understood. Never rejects.
 */
export async function ignore(link: ByteLink, clock: Clock, milliseconds: number): Promise<void> {
  using limit = new Deadline(clock, milliseconds, 'a stranger');
  try {
    if (milliseconds <= 0) throw new ProtocolError('no time is left');
    while ((await link.read(limit.signal)) !== undefined);
    link.destroy();
  } catch {
    // He would not go, or went with a reset.
    link.destroy(new ProtocolError('the client is a stranger'));
  }
}

/** The same, after the end of our own side has been said at once (SIP022 §3.1.3, way 2). */
export async function hangUp(link: ByteLink, clock: Clock, milliseconds: number): Promise<void> {
  link.closeWrite().catch(() => undefined); // he may be gone already
  await ignore(link, clock, milliseconds);
}
