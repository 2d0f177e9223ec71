import { defineProtocol } from '../protocol.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundTable,
  outboundTable,
  restartReason,
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
    load: async () => (await import('./create-inbound.ts')).createInbound,
  },
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: true,
    settings: (table, context) => outboundSettings(table, context),
    load: async () => (await import('./create-outbound.ts')).createOutbound,
  },
});
