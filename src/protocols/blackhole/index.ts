import { defineProtocol } from '../protocol.ts';
import { createBlackholeOutbound } from './outbound.ts';

export const blackhole = defineProtocol<never, undefined>({
  name: 'blackhole',
  aliases: ['block'],
  outbound: {
    stream: false,
    upstream: false,
    // It has no settings; any in the file are ignored.
    settings: () => undefined,
    create: (_settings, context) => createBlackholeOutbound(context),
  },
});
