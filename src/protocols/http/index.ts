import { defineProtocol } from '../protocol.ts';
import { createHttpInbound } from './inbound.ts';
import { createHttpOutbound } from './outbound.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  outboundWarnings,
} from './settings.ts';

export const http = defineProtocol({
  name: 'http',
  inbound: {
    kind: 'carriers',
    stream: true,
    settings: inboundSettings,
    users: ({ accounts }) => (accounts.length > 0 ? accounts : undefined),
    open: ({ accounts }) => accounts.length === 0,
    warnings: inboundWarnings,
    create: createHttpInbound,
  },
  outbound: {
    stream: true,
    upstream: true,
    settings: outboundSettings,
    warnings: outboundWarnings,
    create: createHttpOutbound,
  },
});
