import { defineProtocol } from '../protocol.ts';
import { createShadowsocksInbound } from './inbound.ts';
import { ShadowsocksOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundTable, outboundTable } from './settings.ts';

export const shadowsocks = defineProtocol({
  name: 'shadowsocks',
  inbound: {
    kind: 'carriers',
    stream: false,
    table: inboundTable,
    datagrams: true,
    settings: inboundSettings,
    users: ({ users }) => (users.length > 0 ? users : undefined),
    create: (settings, context) => createShadowsocksInbound(settings, context),
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    create: (settings, context) => new ShadowsocksOutbound(settings, context),
  },
});
