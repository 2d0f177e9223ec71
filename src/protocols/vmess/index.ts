import { defineProtocol } from '../protocol.ts';
import { createVmessInbound } from './inbound.ts';
import { VmessOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundTable, outboundTable } from './settings.ts';
import { repeatedIds } from '../users/uuid.ts';

export const vmess = defineProtocol({
  name: 'vmess',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: repeatedIds,
    create: (settings, context) => createVmessInbound(settings, context),
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    create: (settings, context) => new VmessOutbound(settings, context),
  },
});
