import { QuicServerTls } from '../../transports/tls/quic.ts';
import type { InboundContext, SessionServer } from '../contract.ts';
import type { Built } from '../protocol.ts';
import { createHysteria2Inbound, type ServerMeans } from './inbound.ts';
import { bindServer } from './quic-endpoints.ts';
import type { Hysteria2InboundSettings } from './settings.ts';

const means: ServerMeans = {
  bind: bindServer,
  createTls: (spec) => new QuicServerTls(spec),
};

/** Creates the inbound over QUIC on the system's sockets. */
export const createInbound = (
  settings: Hysteria2InboundSettings,
  context: InboundContext,
): Built<SessionServer> => createHysteria2Inbound(settings, context, means);
