import { defineProtocol, withUsers } from '../protocol.ts';
import { inboundTable } from './settings.ts';
import {
  loginSettings,
  loginTable,
  loginWarnings,
  repeatedAccounts,
} from '../users/account-settings.ts';

export const http = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundTable,
    users: ({ accounts }) => (accounts.length > 0 ? accounts : undefined),
    open: ({ accounts }) => accounts.length === 0,
    warnings: repeatedAccounts,
    load: async () => {
      const { createHttpInbound, httpAccounts } = await import('./inbound.ts');
      return withUsers(httpAccounts, createHttpInbound);
    },
  },
  outbound: {
    stream: true,
    table: loginTable,
    upstream: true,
    settings: loginSettings,
    warnings: loginWarnings,
    load: async () => (await import('./outbound.ts')).createHttpOutbound,
  },
});
