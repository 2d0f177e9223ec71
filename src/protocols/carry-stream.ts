import type { Endpoint } from '../net/address.ts';
import { DialError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import type { InboundContext, Origin } from './contract.ts';

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
