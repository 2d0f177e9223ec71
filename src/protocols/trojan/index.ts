import { defineProtocol } from '../protocol.ts';
import { createTrojanInbound } from './inbound.ts';
import { createTrojanOutbound } from './outbound.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  inboundTable,
  outboundTable,
} from './settings.ts';

export const trojan = defineProtocol({
  name: 'trojan',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: inboundWarnings,
    create: createTrojanInbound,
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    create: createTrojanOutbound,
  },
});
