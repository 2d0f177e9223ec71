import { defineProtocol, withUsers } from '../protocol.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundTable,
  outboundTable,
  restartReason,
  type Hysteria2InboundSettings,
} from './settings.ts';

export const hysteria2 = defineProtocol({
  inbound: {
    kind: 'sessions',
    listens: 'udp',
    stream: false,
    table: inboundTable,
    settings: (table, context) => inboundSettings(table, context),
    users: ({ credentials }) => ('users' in credentials ? credentials.users : [credentials]),
    certificates: ({ tls }) => tls.certificates,
    restartReason,
    load: async () => {
      const { Authenticator } = await import('./authentication.ts');
      const { Hysteria2Server } = await import('./inbound.ts');
      return withUsers(
        ({ credentials }: Hysteria2InboundSettings) => Authenticator.of(credentials),
        (users, context, settings) => new Hysteria2Server(users, context, settings),
      );
    },
  },
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: true,
    settings: (table, context) => outboundSettings(table, context),
    load: async () => {
      const { Hysteria2Outbound } = await import('./outbound.ts');
      return (settings, context) => new Hysteria2Outbound(settings, context);
    },
  },
});
