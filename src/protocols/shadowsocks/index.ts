import { defineProtocol } from '../protocol.ts';
import { inboundSettings, outboundSettings, inboundTable, outboundTable } from './settings.ts';

export const shadowsocks = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: false,
    table: inboundTable,
    datagrams: true,
    settings: inboundSettings,
    users: ({ users }) => (users.length > 0 ? users : undefined),
    load: async () => {
      const { createShadowsocksInbound } = await import('./inbound.ts');
      return (settings, context) => createShadowsocksInbound(settings, context);
    },
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    load: async () => {
      const { ShadowsocksOutbound } = await import('./outbound.ts');
      return (settings, context) => new ShadowsocksOutbound(settings, context);
    },
  },
});
