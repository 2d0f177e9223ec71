import { MuxCarrier } from '../../mux/mux-carrier.ts';
import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { sourceGroup } from '@weir/io/bounds';
import type { ByteLink } from '@weir/io/links';
import type { Session } from '../../tracker/flow.ts';
import type { InboundContext, Origin } from '../contract.ts';
import { accountsOf, type AuthenticatedUser } from '../users/accounts.ts';

/**
 * Returns the origin of the flows of an authenticated client.
 *
 * @param source the client's IP address; `undefined` for a unix socket.
 */
export const originOf = (
  { tag, memory }: Pick<InboundContext, 'tag' | 'memory'>,
  source: string | undefined,
  session: Session,
  user: AuthenticatedUser,
): Origin => ({
  inbound: tag,
  source,
  user: user.label,
  session,
  account: accountsOf(memory).validityOf(user),
});

/** Returns the owner that a client's units count for, on all its connections: its user, or its address without one. */
export const holderOf = ({ inbound, source, user }: Origin): string =>
  user === undefined ? sourceGroup(source) : `${inbound}\n${user}`;

/**
 * Serves one stream of a protocol without replies: the client may send at once, and its connection
 * is closed when the destination is not reached.
 *
 * @param onAccept called when the destination is reached, or earlier when the route depends on the
 *   first bytes.
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
    // The dispatcher logs destinations that cannot be reached.
    if (!(error instanceof DialError)) throw error;
  }
}

/**
 * Serves a Mux.Cool connection until it ends: each sub-link is a flow with the origin and session
 * of the carrier. After the account's removal, and in a drain, the connection ends with its last flow.
 *
 * @throws {ProtocolError} for a connection that is not Mux.Cool.
 */
export function serveMux(link: ByteLink, origin: Origin, context: InboundContext): Promise<void> {
  const { account } = origin;
  const carrier = new MuxCarrier(
    link,
    {
      stream: (stream, destination) => carryStream(stream, { origin, destination }, context),
      packets: (client) => context.dispatcher.packets({ origin, client }),
      mayOpen: () => account?.isValid !== false,
      mayWait: () => account?.mayWait !== false,
      holder: holderOf(origin),
    },
    context.clock,
  );
  const endWatch = account?.watch(() => carrier.endIfUnused());
  return carrier.run().finally(endWatch);
}
