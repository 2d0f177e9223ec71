import { defineProtocol } from '../protocol.ts';
import { createFreedomOutbound } from './outbound.ts';

export const freedom = defineProtocol<never, undefined>({
  name: 'freedom',
  aliases: ['direct'],
  outbound: {
    stream: false,
    upstream: false,
    // It has no settings, and does not look whether any are written.
    settings: () => undefined,
    create: (_settings, context) => createFreedomOutbound(context),
  },
});
