import { defineProtocol } from '../protocol.ts';
import { createTrojanInbound } from './inbound.ts';
import { createTrojanOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings } from './settings.ts';

export const trojan = defineProtocol({
  name: 'trojan',
  inbound: {
    kind: 'carriers',
    stream: true,
    settings: inboundSettings,
    users: ({ users }) => users,
    create: createTrojanInbound,
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    create: createTrojanOutbound,
  },
});
