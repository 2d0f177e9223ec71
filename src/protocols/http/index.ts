import { defineProtocol } from '../protocol.ts';
import { createHttpInbound } from './inbound.ts';
import { createHttpOutbound } from './outbound.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundWarnings,
  outboundWarnings,
  inboundTable,
  outboundTable,
} from './settings.ts';

export const http = defineProtocol({
  name: 'http',
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ accounts }) => (accounts.length > 0 ? accounts : undefined),
    open: ({ accounts }) => accounts.length === 0,
    warnings: inboundWarnings,
    create: createHttpInbound,
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    warnings: outboundWarnings,
    create: createHttpOutbound,
  },
});
