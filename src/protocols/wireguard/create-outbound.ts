import { lookup } from 'node:dns/promises';
import { SystemRandomSource } from '../../crypto/random-source.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import type { Outbound, OutboundContext } from '../contract.ts';
import { WireGuardOutbound } from './outbound.ts';
import type { WireGuardSettings } from './settings.ts';
import { SharedTunnels, type TunnelMeans } from './shared-tunnels.ts';

const means: TunnelMeans = {
  bind: (options, handlers) => systemSockets().bindDatagrams(options, handlers),
  resolve: async (name, family) =>
    (await lookup(name, { family: family ?? 0, order: 'verbatim' })).address,
  random: new SystemRandomSource(),
};

/** Creates the outbound over the tunnels that all outbounds and reloads share, on the system's sockets. */
export function createWireGuardOutbound(
  settings: WireGuardSettings,
  context: OutboundContext,
): Outbound {
  const make = (): SharedTunnels => new SharedTunnels(means);
  const tunnels = context.shared.recall('wireguard tunnels', SharedTunnels, make);
  return new WireGuardOutbound(settings, context, tunnels);
}
