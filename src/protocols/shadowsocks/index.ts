import { defineProtocol } from '../protocol.ts';
import { createShadowsocksInbound } from './inbound.ts';
import { createShadowsocksOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings } from './settings.ts';

export const shadowsocks = defineProtocol({
  name: 'shadowsocks',
  inbound: {
    kind: 'carriers',
    stream: false,
    datagrams: true,
    settings: inboundSettings,
    users: ({ users }) => (users.length > 0 ? users : undefined),
    create: (settings, context) => createShadowsocksInbound(settings, context),
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    create: (settings, context) => createShadowsocksOutbound(settings, context),
  },
});
