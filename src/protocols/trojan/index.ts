import { defineProtocol } from '../protocol.ts';
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
    load: async () => (await import('./inbound.ts')).createTrojanInbound,
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    load: async () => (await import('./outbound.ts')).createTrojanOutbound,
  },
});
