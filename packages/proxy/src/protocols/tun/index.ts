import { defineProtocol } from '../protocol.ts';
import { inboundWarnings, restartReason, tunSettings, tunTable } from './settings.ts';

export const tun = defineProtocol({
  inbound: {
    kind: 'sessions',
    listens: 'device',
    stream: false,
    table: tunTable,
    settings: (table) => tunSettings(table, process.platform),
    users: () => undefined,
    warnings: (table) => inboundWarnings(table, process.platform),
    restartReason,
    load: async () => {
      const { TunServer } = await import('./inbound.ts');
      return (settings, context) => new TunServer(settings, context);
    },
  },
});
