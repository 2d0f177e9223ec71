import { defineProtocol } from '../protocol.ts';
import { createTrojanInbound } from './inbound.ts';
import { createTrojanOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings, inboundWarnings } from './settings.ts';

export const trojan = defineProtocol({
  name: 'trojan',
  inbound: {
    kind: 'carriers',
    stream: true,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: inboundWarnings,
    create: createTrojanInbound,
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    create: createTrojanOutbound,
  },
});
