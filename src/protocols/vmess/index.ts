import { defineProtocol } from '../protocol.ts';
import { createVmessInbound } from './inbound.ts';
import { createVmessOutbound } from './outbound.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  inboundTable,
  outboundTable,
} from './settings.ts';

export const vmess = defineProtocol({
  name: 'vmess',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: inboundWarnings,
    create: (settings, context) => createVmessInbound(settings, context),
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    create: (settings, context) => createVmessOutbound(settings, context),
  },
});
