import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { FramedPackets, GreetingLink } from '@weir/io/layers';
import type { ByteLink, PacketLink } from '@weir/io/links';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { ClientFraming, Command, encodeRequest } from './wire.ts';
import { trojanKey, type TrojanOutboundSettings } from './settings.ts';

/** Creates a Trojan client; host names are sent as names. */
export function createTrojanOutbound(
  { password }: TrojanOutboundSettings,
  context: OutboundContext,
): Outbound {
  const key = trojanKey(password);
  return {
    async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
      const request = encodeRequest(key, Command.connect, destination);
      if (!request) {
        throw new DialError(
          'failed',
          'the host name does not fit into a Trojan request (255 bytes)',
        );
      }
      const { link } = await context.dial(options);
      return new GreetingLink(link, request, context.clock);
    },
    async associate(options: DialOptions): Promise<PacketLink> {
      const { link } = await context.dial({ ...options, use: 'datagrams' });
      return new FramedPackets(link, new ClientFraming(key));
    },
    close: () => undefined,
    suspect: 'a wrong password',
  };
}
