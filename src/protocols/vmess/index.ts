import { defineProtocol } from '../protocol.ts';
import { inboundSettings, outboundSettings, inboundTable, outboundTable } from './settings.ts';
import { repeatedIds } from '../users/uuid.ts';

export const vmess = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: repeatedIds,
    load: async () => {
      const { createVmessInbound } = await import('./inbound.ts');
      return (settings, context) => createVmessInbound(settings, context);
    },
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    load: async () => {
      const { VmessOutbound } = await import('./outbound.ts');
      return (settings, context) => new VmessOutbound(settings, context);
    },
  },
});
