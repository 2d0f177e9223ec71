import { defineProtocol } from '../protocol.ts';

export const blackhole = defineProtocol<never, undefined>({
  outbound: {
    stream: false,
    upstream: false,
    // A blackhole has no settings; any in the file are ignored.
    settings: () => undefined,
    load: async () => {
      const { createBlackholeOutbound } = await import('./outbound.ts');
      return (_settings, context) => createBlackholeOutbound(context);
    },
  },
});
