import { defineProtocol, withUsers } from '../protocol.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundTable,
  outboundTable,
  type ShadowsocksInboundSettings,
} from './settings.ts';

export const shadowsocks = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: false,
    table: inboundTable,
    datagrams: true,
    settings: inboundSettings,
    users: ({ users }) => (users.length > 0 ? users : undefined),
    load: async () => {
      const { ShadowsocksInbound } = await import('./inbound.ts');
      const { ShadowsocksUsers } = await import('./shadowsocks-users.ts');
      return withUsers(
        (settings: ShadowsocksInboundSettings, { memory }) => ShadowsocksUsers.of(settings, memory),
        (users, context) => new ShadowsocksInbound(users, context),
      );
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
