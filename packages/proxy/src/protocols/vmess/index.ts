import { defineProtocol, withUsers } from '../protocol.ts';
import {
  inboundSettings,
  inboundTable,
  outboundSettings,
  outboundTable,
  type VmessInboundSettings,
} from './settings.ts';
import { repeatedIds } from '../users/uuid.ts';

export const vmess = defineProtocol({
  inbound: {
    kind: 'carriers',
    stream: true,
    table: inboundTable,
    settings: inboundSettings,
    users: ({ users }) => users,
    warnings: repeatedIds,
    load: async () => {
      const { VmessInbound } = await import('./inbound.ts');
      const { VmessUsers } = await import('./inbound.ts');
      return withUsers(
        ({ users }: VmessInboundSettings, context) => VmessUsers.of(users, context),
        (users, context) => new VmessInbound(users, context),
      );
    },
  },
  outbound: {
    stream: true,
    table: outboundTable,
    upstream: true,
    settings: outboundSettings,
    load: async () => {
      const { VmessOutbound } = await import('./outbound.ts');
      return (settings, context) => new VmessOutbound(settings, context);
    },
  },
});
