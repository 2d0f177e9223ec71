import { randomInt } from 'node:crypto';
import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import { ProtocolError } from '../net/errors.ts';
import { connectTcp } from '../net/node/tcp-dial.ts';
import { frame, MessageReader } from './framing.ts';
import { encodeQuery, readReply, type Question, type Reply } from './message.ts';

/** Connecting and the answer together. */
const LIMIT_MS = 5000;

/**
 * Asks one question over a TCP connection of its own, for answers that do not fit a datagram.
 *
 * @throws {DialError} when the server is not reached in time.
 * @throws {ProtocolError} when what it sends is not the reply.
 */
export async function askOverTcp(
  server: Endpoint,
  question: Question,
  clock: Clock,
  signal: AbortSignal,
): Promise<Reply> {
  using deadline = new Deadline(clock, LIMIT_MS, 'the answer over TCP', signal);
  const { link } = await connectTcp(server.host, server.port, { signal: deadline.signal });
  try {
    const query = encodeQuery(question, { id: randomInt(0x1_0000) });
    await link.write(frame(query));
    const reply = readReply(await new MessageReader(link, deadline.signal).next(), query);
    if (!reply) throw new ProtocolError('the answer over TCP is to another question');
    return reply;
  } finally {
    link.destroy();
  }
}
