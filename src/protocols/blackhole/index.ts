import { defineProtocol } from '../protocol.ts';
import { shownEndpoint } from '../../net/addresses/shown-address.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import { DialError } from '../../net/errors.ts';
import type { ByteLink, PacketLink } from '../../net/links/link.ts';
import type { Outbound, OutboundContext } from '../contract.ts';

/** Creates an outbound that rejects every stream and association at once. */
export function createBlackholeOutbound({ tag }: Pick<OutboundContext, 'tag'>): Outbound {
  return {
    connect(destination: Endpoint): Promise<ByteLink> {
      const message = `${shownEndpoint(destination)}: blocked by outbound ${tag}`;
      return Promise.reject(new DialError('blocked', message));
    },
    associate(): Promise<PacketLink> {
      return Promise.reject(new DialError('blocked', `udp: blocked by outbound ${tag}`));
    },
    close: () => undefined,
  };
}

export const blackhole = defineProtocol<never, undefined>({
  outbound: {
    stream: false,
    upstream: false,
    // A blackhole has no settings; any in the file are ignored.
    settings: () => undefined,
    load: () => Promise.resolve((_settings, context) => createBlackholeOutbound(context)),
  },
});
