import type { Endpoint } from '../../net/address.ts';
import type { ByteLink, PacketLink } from '../../net/link.ts';
import { dialTcp } from '../../transports/dialer.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { openFreedomPackets } from './packets.ts';

/** Connects to the destination directly. */
export function createFreedomOutbound(context: OutboundContext): Outbound {
  const { tag, resolver, family, clock, log, ownListeners } = context;
  return {
    async connect(destination: Endpoint, { signal, origin }: DialOptions): Promise<ByteLink> {
      const { link } = await dialTcp(destination, {
        resolver,
        family,
        clock,
        signal,
        client: origin?.source,
        approach: origin && ((address) => ownListeners.approach(address, origin, true)),
      });
      return link;
    },
    associate({ origin }: DialOptions): Promise<PacketLink> {
      return openFreedomPackets({
        resolver,
        family,
        client: origin?.source,
        onUnresolved: (error) => log.info(`udp by ${tag}: ${error.message}`),
      });
    },
    close: () => undefined,
  };
}
