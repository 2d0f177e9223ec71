import type { Endpoint } from '../net/address.ts';
import { DialError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import type { InboundContext, Origin } from './contract.ts';
import { MuxCarrier } from '../mux/mux-carrier.ts';

/**
 * Carries one stream for protocols in which the client is told nothing: it may send at once, and
 * learns of a destination that was not reached by a cut connection. `onAccept` is called when it is
 * reached, or before that when the route depends on the first bytes.
 */
export async function carryStream(
  link: ByteLink,
  { origin, destination }: { readonly origin: Origin; readonly destination: Endpoint },
  { dispatcher, sniffing: sniff }: Pick<InboundContext, 'dispatcher' | 'sniffing'>,
  onAccept?: () => void,
): Promise<void> {
  const accept = (): Promise<ByteLink> => {
    onAccept?.();
    return Promise.resolve(link);
  };
  try {
    await dispatcher.stream({ origin, destination, sniff, client: link, accept });
  } catch (error) {
    link.destroy(error instanceof Error ? error : undefined);
    // That a destination cannot be reached is the dispatcher's news.
    if (!(error instanceof DialError)) throw error;
  }
}

/**
 * Serves a Mux.Cool connection to its end: each of its flows is a flow of its own, with the origin
 * of the carrier, its session included.
 *
 * @throws {ProtocolError} when the client does not speak Mux.Cool.
 */
export function serveMux(link: ByteLink, origin: Origin, context: InboundContext): Promise<void> {
  const carrier = new MuxCarrier(
    link,
    {
      stream: (stream, destination) => carryStream(stream, { origin, destination }, context),
      packets: (client) => context.dispatcher.packets({ origin, client }),
    },
    context.clock,
  );
  return carrier.run();
}
