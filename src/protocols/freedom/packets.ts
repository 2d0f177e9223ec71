import { codeOf } from '../../errors.ts';
import { ipVersion, type Endpoint } from '../../net/addresses/address.ts';
import { toDialError, type DialError } from '../../net/errors.ts';
import type { PacketLink } from '../../net/links/link.ts';
import type { FamilyPolicy, Resolver } from '../../net/addresses/resolver.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import type { OwnPeers } from '../../net/own-listeners.ts';
import type { UdpSocket } from '../../net/sockets/sockets.ts';
import { ResolvedPackets } from '../outbounds/resolved-packets.ts';

export interface FreedomPacketsOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  /** The address of the client. */
  readonly client?: string | undefined;
  /** Creates the check of the addresses to which the client may send; `undefined` if all are allowed. */
  readonly peersOf?: ((socket: UdpSocket) => OwnPeers) | undefined;
  /** Called when a name was not resolved: its datagrams are lost, like those to an unreachable peer. */
  readonly onUnresolved: (error: DialError) => void;
}

/**
 * Opens one socket of both families for all peers of an association: full cone, since every peer
 * sees the same port and may respond to it.
 *
 * @throws {DialError} when the socket cannot be bound.
 */
export async function openFreedomPackets(options: FreedomPacketsOptions): Promise<PacketLink> {
  const { family, peersOf, ...rest } = options;
  const socket = await bindSocket(family, options.client ?? '');
  const peers = peersOf?.(socket);
  return new ResolvedPackets(socket, {
    ...rest,
    family,
    allows: (peer) => isReached(peer, family) && peers?.allows(peer) !== false,
  });
}

const isReached = ({ host }: Endpoint, family: FamilyPolicy): boolean =>
  family !== (ipVersion(host) === 4 ? 'ipv6_only' : 'ipv4_only');

async function bindSocket(family: FamilyPolicy, association: string): Promise<UdpSocket> {
  try {
    if (family === 'ipv4_only') return await systemSockets().bindUdp({ family: 4, association });
    try {
      return await systemSockets().bindUdp({ family: 6, association });
    } catch (error) {
      const code = codeOf(error);
      const withoutIPv6 = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL' || code === 'EINVAL';
      if (!withoutIPv6 || family === 'ipv6_only') throw error;
      return await systemSockets().bindUdp({ family: 4, association });
    }
  } catch (error) {
    throw toDialError(error, { host: '::', port: 0 });
  }
}
