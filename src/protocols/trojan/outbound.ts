import type { Endpoint } from '../../net/address.ts';
import { DialError } from '../../net/errors.ts';
import { FramedPackets } from '../../net/framed-packets.ts';
import { GreetingLink } from '../../net/greeting-link.ts';
import type { ByteLink, PacketLink } from '../../net/link.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { TrojanFraming } from './packet-framing.ts';
import type { TrojanOutboundSettings } from './settings.ts';
import { Command, encodeRequest, keyOf } from './wire.ts';

/** Where datagrams go stands with each of them: the request of an association names nothing. */
const NOWHERE: Endpoint = { host: '0.0.0.0', port: 0 };

/** A Trojan client; host names travel as names. */
export function createTrojanOutbound(
  { password }: TrojanOutboundSettings,
  context: OutboundContext,
): Outbound {
  const key = keyOf(password);
  const open = async (
    command: Command,
    destination: Endpoint,
    options: DialOptions,
  ): Promise<ByteLink> => {
    const request = encodeRequest(key, command, destination);
    if (!request) {
      throw new DialError('failed', 'the host name does not fit into a Trojan request (255 bytes)');
    }
    const { link } = await context.dial(options);
    return new GreetingLink(link, request, context.clock);
  };
  return {
    connect: (destination, options) => open(Command.connect, destination, options),
    associate: async (options): Promise<PacketLink> =>
      new FramedPackets(await open(Command.associate, NOWHERE, options), new TrojanFraming()),
    close: () => undefined,
  };
}
