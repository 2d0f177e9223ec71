import { defineProtocol } from '../protocol.ts';
import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import type { ByteLink, PacketLink } from '@weir/io/links';
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
