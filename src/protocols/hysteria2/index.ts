import { QuicClientTls, QuicServerTls } from '../../transports/tls/quic.ts';
import { defineProtocol } from '../protocol.ts';
import { createHysteria2Inbound, type ServerMeans } from './inbound.ts';
import { Hysteria2Outbound, type ClientMeans } from './outbound.ts';
import { bindServer, dialServer } from './quic-endpoints.ts';
import {
  inboundSettings,
  outboundSettings,
  inboundTable,
  outboundTable,
  restartReason,
} from './settings.ts';

const serverMeans: ServerMeans = {
  bind: bindServer,
  createTls: (spec) => new QuicServerTls(spec),
};

const clientMeans: ClientMeans = {
  dial: dialServer,
  createTls: (spec) => new QuicClientTls(spec),
};

export const hysteria2 = defineProtocol({
  name: 'hysteria2',
  aliases: ['hysteria', 'hy2'],
  inbound: {
    kind: 'sessions',
    listens: 'udp',
    stream: false,
    table: inboundTable,
    settings: (table, context) => inboundSettings(table, context),
    users: ({ credentials }) => ('users' in credentials ? credentials.users : [credentials]),
    certificates: ({ tls }) => tls.certificates,
    restartReason,
    create: (settings, context) => createHysteria2Inbound(settings, context, serverMeans),
  },
  outbound: {
    stream: false,
    table: outboundTable,
    upstream: true,
    settings: (table, context) => outboundSettings(table, context),
    create: (settings, context) => new Hysteria2Outbound(settings, context, clientMeans),
  },
});
