import { defineProtocol } from '../protocol.ts';
import { createFreedomOutbound } from './outbound.ts';

export const freedom = defineProtocol<never, undefined>({
  name: 'freedom',
  aliases: ['direct'],
  outbound: {
    stream: false,
    upstream: false,
    // It has no settings; any in the file are ignored.
    settings: () => undefined,
    create: (_settings, context) => createFreedomOutbound(context),
  },
});
