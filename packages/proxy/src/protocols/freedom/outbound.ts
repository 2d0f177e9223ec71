import {
  shownEndpoint,
  shownHost,
  shownSource,
  formatEndpoint,
  type Endpoint,
  type FamilyPolicy,
  type Resolver,
} from '@weir/io/addresses';
import { abortedDial, toDialError, type DialError } from '@weir/io';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { OwnPeers, type DialOrigin } from '@weir/io/net/own-listeners';
import { dialTcp } from '../../transports/dial-tcp.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { LogLimiter } from '@weir/io/pace';
import { codeOf } from '@weir/base';
import { systemSockets, type UdpSocket } from '@weir/io/sockets';
import { ResolvedPackets } from '../outbounds/resolved-packets.ts';

interface FreedomPacketsOptions {
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
  const { peersOf, ...rest } = options;
  const socket = await bindSocket(options.client ?? '');
  const peers = peersOf?.(socket);
  return new ResolvedPackets(socket, { ...rest, allows: (peer) => peers?.allows(peer) !== false });
}

async function bindSocket(association: string): Promise<UdpSocket> {
  try {
    try {
      return await systemSockets().bindUdp({ family: 6, association });
    } catch (error) {
      const code = codeOf(error);
      const withoutIPv6 = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL' || code === 'EINVAL';
      if (!withoutIPv6) throw error;
      return await systemSockets().bindUdp({ family: 4, association });
    }
  } catch (error) {
    throw toDialError(error, { host: '::', port: 0 });
  }
}

/** Creates an outbound that connects to destinations directly. */
export function createFreedomOutbound(context: OutboundContext): Outbound {
  const { tag, resolver, family, clock, log, ownListeners } = context;
  const refused = new LogLimiter(clock);
  const logRefused = (error: DialError, peer: Endpoint, { inbound, source }: DialOrigin): void => {
    const target = shownEndpoint(peer);
    if (!refused.note(`${inbound} ${formatEndpoint(peer)}`)) return;
    const client = shownSource(source) ?? 'a local client';
    log.warn(`${inbound} -> udp ${target} for ${client} refused: ${error.message}`, {
      inbound,
      outbound: tag,
      source: shownSource(source),
      host: shownHost(peer.host),
      port: peer.port,
      error: error.message,
    });
  };
  return {
    async connect(
      destination: Endpoint,
      { signal, origin, observe }: DialOptions,
    ): Promise<ByteLink> {
      const { link } = await dialTcp(destination, {
        resolver,
        family,
        clock,
        signal,
        client: origin?.source,
        observe,
        preConnect: origin && ((address) => ownListeners.check(address, origin, true)),
      });
      return link;
    },
    associate({ origin, signal }: DialOptions): Promise<PacketLink> {
      if (signal.aborted) return Promise.reject(abortedDial(signal));
      return openFreedomPackets({
        resolver,
        family,
        client: origin?.source,
        peersOf:
          origin &&
          ((socket) =>
            new OwnPeers(ownListeners, origin, socket, (error, peer) =>
              logRefused(error, peer, origin),
            )),
        onUnresolved: (error) =>
          log.info(`udp by ${tag}: ${error.message}`, { outbound: tag, error: error.message }),
      });
    },
    close: () => undefined,
  };
}
