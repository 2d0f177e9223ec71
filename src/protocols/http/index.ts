import { defineProtocol } from '../protocol.ts';
import { createHttpInbound } from './inbound.ts';
import { createHttpOutbound } from './outbound.ts';
import { inboundSettings, outboundSettings } from './settings.ts';

export const http = defineProtocol({
  name: 'http',
  inbound: {
    kind: 'carriers',
    stream: true,
    settings: inboundSettings,
    users: ({ accounts }) => (accounts.length > 0 ? accounts : undefined),
    create: createHttpInbound,
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    create: createHttpOutbound,
  },
});
