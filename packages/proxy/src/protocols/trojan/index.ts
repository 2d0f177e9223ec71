import { defineProtocol, withUsers } from '../protocol.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  inboundTable,
  outboundTable,
} from './settings.ts';

export const trojan = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: inboundWarnings,
    load: async () => {
      const { createTrojanInbound, trojanUsers } = await import('./inbound.ts');
      return withUsers(trojanUsers, createTrojanInbound);
    },
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    load: async () => (await import('./outbound.ts')).createTrojanOutbound,
  },
});
