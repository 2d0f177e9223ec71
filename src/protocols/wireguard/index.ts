import { lookup } from 'node:dns/promises';
import { SystemRandomSource } from '../../crypto/random-source.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import { defineProtocol } from '../protocol.ts';
import { WireGuardOutbound } from './outbound.ts';
import { outboundSettings, outboundWarnings, outboundTable } from './settings.ts';
import { SharedTunnels, type TunnelMeans } from './shared-tunnels.ts';

const means: TunnelMeans = {
  bind: (options, handlers) => systemSockets().bindDatagrams(options, handlers),
  resolve: async (name) => (await lookup(name, { order: 'verbatim' })).address,
  random: new SystemRandomSource(),
};

export const wireguard = defineProtocol({
  name: 'wireguard',
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: false,
    settings: (table) => outboundSettings(table),
    warnings: outboundWarnings,
    create(settings, context) {
      const make = (): SharedTunnels => new SharedTunnels(means);
      const tunnels = context.shared.recall('wireguard tunnels', SharedTunnels, make);
      return new WireGuardOutbound(settings, context, tunnels);
    },
  },
});
