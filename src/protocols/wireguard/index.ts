import { defineProtocol } from '../protocol.ts';
import { outboundSettings, outboundWarnings, outboundTable } from './settings.ts';

export const wireguard = defineProtocol({
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: false,
    settings: (table) => outboundSettings(table),
    warnings: outboundWarnings,
    load: async () => (await import('./create-outbound.ts')).createWireGuardOutbound,
  },
});
