import { formatEndpoint, type Endpoint } from '../../net/address.ts';
import { DialError } from '../../net/errors.ts';
import type { ByteLink, PacketLink } from '../../net/link.ts';
import type { Outbound, OutboundContext } from '../contract.ts';

/** Refuses every stream at once, and drops every datagram. */
export function createBlackholeOutbound({ tag }: Pick<OutboundContext, 'tag'>): Outbound {
  return {
    connect(destination: Endpoint): Promise<ByteLink> {
      const message = `${formatEndpoint(destination)}: blocked by outbound ${tag}`;
      return Promise.reject(new DialError('blocked', message));
    },
    associate(): Promise<PacketLink> {
      return Promise.reject(new DialError('blocked', `udp: blocked by outbound ${tag}`));
    },
    close: () => undefined,
  };
}
