import { defineProtocol } from '../protocol.ts';
import { createSocksInbound } from './inbound.ts';
import { createSocksOutbound } from './outbound.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  outboundWarnings,
  inboundTable,
  outboundTable,
} from './settings.ts';

export const socks = defineProtocol({
  name: 'socks',
  inbound: {
    kind: 'carriers',
    stream: false,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ auth, accounts }) => (auth === 'password' ? accounts : undefined),
    open: ({ auth }) => auth === 'none',
    warnings: inboundWarnings,
    create: createSocksInbound,
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    warnings: outboundWarnings,
    create: createSocksOutbound,
  },
});
