import { messageOf } from '../../errors.ts';
import type { Carrier } from '../../net/link.ts';
import type { InboundContext, Origin } from '../contract.ts';
import { ClientDatagrams } from './client-datagrams.ts';
import { say } from './handshake.ts';
import { SocksRefusal } from './refusal.ts';
import { endOf } from './control.ts';
import type { RelayPlan } from './relay-plan.ts';
import { encodeReply, Reply, SOCKS5 } from './wire.ts';

/**
 * Serves one UDP ASSOCIATE (RFC 1928 §6, §7) for as long as its control connection lives.
 *
 * @throws {SocksRefusal} when the relay socket cannot be bound.
 */
export async function associate(
  plan: RelayPlan,
  { link }: Carrier,
  origin: Origin,
  { dispatcher }: InboundContext,
): Promise<void> {
  const client = await open(plan);
  origin.session?.attach(client.wire);
  try {
    await say(link, encodeReply(SOCKS5, Reply.succeeded, client.address));
    const control = endOf(link).then((cause) => client.close(cause));
    await dispatcher.packets({ origin, client });
    // The other way round too: an association that the engine ended takes its control connection.
    link.destroy();
    await control;
  } finally {
    client.close();
  }
}

async function open(plan: RelayPlan): Promise<ClientDatagrams> {
  try {
    return await ClientDatagrams.open(plan);
  } catch (error) {
    const message = `UDP relay on ${plan.bind}: ${messageOf(error)}`;
    throw new SocksRefusal(encodeReply(SOCKS5, Reply.failure), message, { cause: error });
  }
}
