import { defineProtocol } from '../protocol.ts';
import { createVlessInbound } from './inbound.ts';
import { createVlessOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundTable, outboundTable } from './settings.ts';
import { repeatedIds } from '../users/uuid.ts';

export const vless = defineProtocol({
  name: 'vless',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: repeatedIds,
    create: createVlessInbound,
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    create: createVlessOutbound,
  },
});
