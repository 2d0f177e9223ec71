import { defineProtocol, withUsers } from '../protocol.ts';
import { inboundTable, outboundTable } from './settings.ts';
import { repeatedIds } from '../users/uuid.ts';

export const vless = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundTable,
    users: ({ users }) => users,
    warnings: repeatedIds,
    load: async () => {
      const { createVlessInbound, vlessUsers } = await import('./inbound.ts');
      return withUsers(vlessUsers, createVlessInbound);
    },
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundTable,
    load: async () => (await import('./outbound.ts')).createVlessOutbound,
  },
});
