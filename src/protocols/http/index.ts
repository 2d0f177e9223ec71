import { defineProtocol } from '../protocol.ts';
import { createHttpInbound } from './inbound.ts';
import { createHttpOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundTable } from './settings.ts';
import { loginTable, loginWarnings, repeatedAccounts } from '../users/account-settings.ts';

export const http = defineProtocol({
  name: 'http',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ accounts }) => (accounts.length > 0 ? accounts : undefined),
    open: ({ accounts }) => accounts.length === 0,
    warnings: repeatedAccounts,
    create: createHttpInbound,
  },
  outbound: {
    stream: true,
    table: loginTable,
    upstream: true,
    settings: outboundSettings,
    warnings: loginWarnings,
    create: createHttpOutbound,
  },
});
