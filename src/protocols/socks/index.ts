import { defineProtocol } from '../protocol.ts';
import { createSocksInbound } from './inbound.ts';
import { createSocksOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings } from './settings.ts';

export const socks = defineProtocol({
  name: 'socks',
  inbound: {
    kind: 'carriers',
    stream: false,
    settings: inboundSettings,
    users: ({ auth, accounts }) => (auth === 'password' ? accounts : undefined),
    create: createSocksInbound,
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    create: createSocksOutbound,
  },
});
