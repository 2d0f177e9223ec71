import { SystemRandomSource } from '../../crypto/random-source.ts';
import { systemResolvers } from '../../dns/system/system-resolvers.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import { defineProtocol } from '../protocol.ts';
import { TunServer, type TunMeans } from './inbound.ts';
import { inboundWarnings, restartReason, tunSettings, tunTable } from './settings.ts';

const means: TunMeans = {
  descriptorLimit: () => systemSockets().descriptorLimit,
  takeRoomForDial: () => systemSockets().takeRoomForDial(),
  open: (plan, events) => systemSockets().openTun(plan, events),
  random: new SystemRandomSource(),
  sockets: {
    listen: (where, options) => systemSockets().listen(where, options),
    bindUdp: (options) => systemSockets().bindUdp(options),
  },
  programRoute: (host) => systemSockets().programRoute(host),
  systemResolvers: () => systemResolvers(),
};

export const tun = defineProtocol({
  name: 'tun',
  aliases: [],
  inbound: {
    kind: 'sessions',
    listens: 'device',
    stream: false,
    table: tunTable,
    settings: (table) => tunSettings(table, process.platform),
    users: () => undefined,
    warnings: (table) => inboundWarnings(table, process.platform),
    restartReason,
    create: (settings, context) => new TunServer(settings, context, means),
  },
});
