import { defineProtocol, withUsers } from '../protocol.ts';
import { inboundSettings, inboundWarnings, inboundTable } from './settings.ts';
import { loginSettings, loginTable, loginWarnings } from '../users/account-settings.ts';

export const socks = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: false,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ auth, accounts }) => (auth === 'password' ? accounts : undefined),
    open: ({ auth }) => auth === 'none',
    warnings: inboundWarnings,
    load: async () => {
      const { SocksInbound, socksAccounts } = await import('./inbound.ts');
      return withUsers(
        socksAccounts,
        (accounts, context, settings) => new SocksInbound(accounts, context, settings),
      );
    },
  },
  outbound: {
    stream: true,
    table: loginTable,
    upstream: true,
    settings: loginSettings,
    warnings: loginWarnings,
    load: async () => {
      const { SocksOutbound } = await import('./outbound.ts');
      return (settings, context) => new SocksOutbound(settings, context);
    },
  },
});
