import { defineProtocol } from '../protocol.ts';
import { createBlackholeOutbound } from './outbound.ts';

export const blackhole = defineProtocol<never, undefined>({
  name: 'blackhole',
  aliases: ['block'],
  outbound: {
    stream: false,
    upstream: false,
    // It has no settings, and does not look whether any are written.
    settings: () => undefined,
    create: (_settings, context) => createBlackholeOutbound(context),
  },
});
