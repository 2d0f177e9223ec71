import { SystemRandomSource } from '../../crypto/random-source.ts';
import { systemResolvers } from '../../dns/system/system-resolvers.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import type { InboundContext, SessionServer } from '../contract.ts';
import { TunServer, type TunMeans } from './inbound.ts';
import type { TunSettings } from './settings.ts';

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

/** Creates the inbound on a device of the operating system. */
export const createTunInbound = (settings: TunSettings, context: InboundContext): SessionServer =>
  new TunServer(settings, context, means);
