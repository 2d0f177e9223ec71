import { shownEndpoint, shownHost, shownSource } from '../../net/addresses/shown-address.ts';
import { formatEndpoint, type Endpoint } from '../../net/addresses/address.ts';
import { abortedDial, type DialError } from '../../net/errors.ts';
import type { ByteLink, PacketLink } from '../../net/links/link.ts';
import { type DialOrigin, OwnPeers } from '../../net/own-listeners.ts';
import { dialTcp } from '../../transports/dial-tcp.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { LogLimiter } from '../../net/time/log-limiter.ts';
import { openFreedomPackets } from './packets.ts';

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
        approach: origin && ((address) => ownListeners.approach(address, origin, true)),
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
