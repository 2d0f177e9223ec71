import { defineProtocol } from '../protocol.ts';

export const freedom = defineProtocol<never, undefined>({
  outbound: {
    stream: false,
    upstream: false,
    // Freedom has no settings; any in the file are ignored.
    settings: () => undefined,
    load: async () => {
      const { createFreedomOutbound } = await import('./outbound.ts');
      return (_settings, context) => createFreedomOutbound(context);
    },
  },
});
