import { QuicClientTls } from '../../transports/tls/quic.ts';
import type { Outbound, OutboundContext } from '../contract.ts';
import { Hysteria2Outbound, type ClientMeans } from './outbound.ts';
import { dialServer } from './quic-endpoints.ts';
import type { Hysteria2OutboundSettings } from './settings.ts';

const means: ClientMeans = {
  dial: dialServer,
  createTls: (spec) => new QuicClientTls(spec),
};

/** Creates the outbound over QUIC on the system's sockets. */
export const createOutbound = (
  settings: Hysteria2OutboundSettings,
  context: OutboundContext,
): Outbound => new Hysteria2Outbound(settings, context, means);
