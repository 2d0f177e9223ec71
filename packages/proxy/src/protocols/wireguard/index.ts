import { defineProtocol } from '../protocol.ts';
import { outboundSettings, outboundWarnings, outboundTable } from './settings.ts';

export const wireguard = defineProtocol({
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: false,
    settings: (table) => outboundSettings(table),
    warnings: outboundWarnings,
    load: async () => {
      const { SharedTunnels } = await import('./shared-tunnels.ts');
      const { WireGuardOutbound } = await import('./outbound.ts');
      return (settings, context) => {
        const make = (): InstanceType<typeof SharedTunnels> => new SharedTunnels();
        const tunnels = context.shared.recall('wireguard tunnels', SharedTunnels, make);
        return new WireGuardOutbound(settings, context, tunnels);
      };
    },
  },
});
