import { DialError } from '@weir/io';
import { GreetingLink } from '@weir/io/layers';
import type {
  Outbound,
  OutboundContext,
} from '../../../../packages/proxy/src/protocols/contract.ts';

/** Sends `TOKEN HOST:PORT` and a line feed before the first payload. */
export const createMadeUpOutbound = (
  { token }: { readonly token: string },
  context: OutboundContext,
): Outbound => ({
  async connect({ host, port }, options) {
    const { link } = await context.dial(options);
    return new GreetingLink(link, Buffer.from(`${token} ${host}:${port}\n`), context.clock);
  },
  associate: () => Promise.reject(new DialError('failed', 'the made-up protocol has no datagrams')),
  close: () => undefined,
});
