import type { Endpoint } from '../../net/addresses/address.ts';
import { abortedDial, DialError } from '../../net/errors.ts';
import { FramedPackets } from '../../net/packets/framed-packets.ts';
import { GreetingLink } from '../../net/links/greeting-link.ts';
import type { ByteLink, PacketLink } from '../../net/links/link.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { DestinationLinks } from '../outbounds/destination-links.ts';
import { uuidBytes } from '../users/uuid.ts';
import { ResponseLink } from './response-link.ts';
import { VlessFraming } from './packet-framing.ts';
import type { VlessOutboundSettings } from './settings.ts';
import { Command, encodeRequest, requestPrefix } from './wire.ts';

/** Creates a VLESS client without flow and mux; host names are sent as names. */
export function createVlessOutbound(
  settings: VlessOutboundSettings,
  context: OutboundContext,
): Outbound {
  const id = uuidBytes(settings.id);
  const streams = requestPrefix(id, Command.tcp);
  const datagrams = requestPrefix(id, Command.udp);
  const open = async (
    prefix: Uint8Array,
    destination: Endpoint,
    options: DialOptions,
  ): Promise<ByteLink> => {
    const request = encodeRequest(prefix, destination);
    if (!request) {
      throw new DialError('failed', 'the host name does not fit into a VLESS request (255 bytes)');
    }
    const { link } = await context.dial(options);
    return new ResponseLink(new GreetingLink(link, request, context.clock));
  };
  const openPackets = async (peer: Endpoint, options: DialOptions): Promise<PacketLink> =>
    new FramedPackets(
      await open(datagrams, peer, { ...options, use: 'datagrams' }),
      new VlessFraming(peer),
    );
  return {
    connect: (destination, options) => open(streams, destination, options),
    async associate(options) {
      if (options.signal.aborted) throw abortedDial(options.signal, context.server);
      return DestinationLinks.open(openPackets, context, options);
    },
    close: () => undefined,
    suspect: 'an unknown id',
  };
}
