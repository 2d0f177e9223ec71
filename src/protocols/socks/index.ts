import { defineProtocol } from '../protocol.ts';
import { createSocksInbound } from './inbound.ts';
import { SocksOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundWarnings, inboundTable } from './settings.ts';
import { loginTable, loginWarnings } from '../users/account-settings.ts';

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
    table: loginTable,
    upstream: true,
    settings: outboundSettings,
    warnings: loginWarnings,
    create: (settings, context) => new SocksOutbound(settings, context),
  },
});
