import { defineProtocol, withUsers } from '../protocol.ts';
import { inboundWarnings, inboundTable, outboundTable } from './settings.ts';

export const trojan = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundTable,
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
    settings: outboundTable,
    load: async () => (await import('./outbound.ts')).createTrojanOutbound,
  },
});
