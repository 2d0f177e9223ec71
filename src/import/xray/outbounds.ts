import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type Draft,
  type ImportedEntry,
  type StreamDraft,
  type Tls,
} from '../draft.ts';
import { ForeignObject, isEmpty } from '../foreign-object.ts';
import { XRAY_KEYS } from '../keys/xray.ts';
import {
  hysteria2Draft,
  proxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
  type NamedServer,
} from '../protocol-drafts.ts';
import { readEntry, type EntryReader } from '../read-entry.ts';
import { bounded } from '../targets.ts';
import { wireguardDraft } from '../wireguard.ts';
import { transportOf } from './stream.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: XRAY_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Reads the servers of a configuration. */
export const readOutbounds = (servers: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', servers).map((each) => readEntry(each, READER));

/** Address families of Xray's strategies for resolving names, which require or prefer one. */
const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['asis', undefined],
  ['useip', undefined],
  ['forceip', undefined],
  ['useipv4', 'ipv4_only'],
  ['forceipv4', 'ipv4_only'],
  ['useipv6', 'ipv6_only'],
  ['forceipv6', 'ipv6_only'],
  ['useipv4v6', 'prefer_ipv4'],
  ['useipv46', 'prefer_ipv4'],
  ['forceipv4v6', 'prefer_ipv4'],
  ['forceipv46', 'prefer_ipv4'],
  ['useipv6v4', 'prefer_ipv6'],
  ['useipv64', 'prefer_ipv6'],
  ['forceipv6v4', 'prefer_ipv6'],
  ['forceipv64', 'prefer_ipv6'],
]);

/** The address family of an outbound. @throws {ImportError} for an unknown strategy */
function familyOf(fields: ForeignObject): string | undefined {
  const settings = fields.fields('settings');
  const socket = fields.fields('streamSettings').fields('sockopt');
  const strategies = [
    settings.text('domainStrategy'),
    settings.text('targetStrategy'),
    fields.text('targetStrategy'),
    socket.text('domainStrategy'),
  ];
  let family: string | undefined;
  for (const strategy of strategies) {
    const name = (strategy ?? '').toLowerCase();
    if (!FAMILIES.has(name)) {
      throw new ImportError(`the strategy ${JSON.stringify(strategy)} is unknown`);
    }
    family ??= FAMILIES.get(name);
  }
  return family;
}

function readOutbound(fields: ForeignObject): Draft {
  const name = fields.text('tag') ?? '';
  const protocol = (fields.text('protocol') ?? '').toLowerCase();
  const settings = fields.fields('settings');
  switch (protocol) {
    case 'freedom':
    case 'blackhole':
      return { name, protocol, settings: {} };
    case 'wireguard':
      return readWireGuard(name, settings);
    case 'vless': {
      const server = serverOf(settings, 'vnext');
      const user = userOf(server);
      return vlessDraft(placeOf(name, server), streamFor(fields), {
        id: user.needText('id'),
        flow: user.text('flow'),
        encryption: user.text('encryption'),
      });
    }
    case 'vmess': {
      const server = serverOf(settings, 'vnext');
      const user = userOf(server);
      return vmessDraft(placeOf(name, server), streamFor(fields), {
        id: user.needText('id'),
        security: user.text('security'),
        alterId: user.text('alterId'),
      });
    }
    case 'trojan': {
      const server = serverOf(settings, 'servers');
      const password = server.needText('password');
      return trojanDraft(placeOf(name, server), streamFor(fields), password);
    }
    case 'shadowsocks': {
      const server = serverOf(settings, 'servers');
      return shadowsocksDraft(placeOf(name, server), streamFor(fields), {
        method: server.needText('method'),
        password: server.needText('password'),
      });
    }
    case 'hysteria':
      return readHysteria(name, fields, settings);
    case 'socks':
    case 'http': {
      const server = serverOf(settings, 'servers');
      const user = userOf(server);
      return proxyDraft(protocol, placeOf(name, server), streamFor(fields), {
        user: user.text('user'),
        pass: user.text('pass'),
      });
    }
    default:
      throw new ImportError(`the protocol ${JSON.stringify(protocol)} is not supported`);
  }
}

/** Reads Hysteria 2 in the form of Xray 26: a protocol and a transport, with Salamander as a mask of datagrams. */
function readHysteria(name: string, fields: ForeignObject, settings: ForeignObject): Draft {
  const stream = fields.fields('streamSettings');
  const transport = stream.fields('hysteriaSettings');
  if (settings.number('version') !== 2 || transport.number('version') !== 2) {
    throw new ImportError('only version 2 of Hysteria is supported');
  }
  const network = transportOf(stream);
  const tls = tlsOf(stream);
  if (network !== 'hysteria' || !tls) {
    throw new ImportError('Hysteria over another transport, or without TLS, is not supported');
  }
  const masks = stream.fields('finalmask');
  const hops = [transport.fields('udphop'), masks.fields('quicParams').fields('udpHop')];
  if (hops.some((hop) => hop.firstText('ports') !== undefined)) {
    throw new ImportError('several ports (port hopping) are not supported');
  }
  const mask = masks.only('udp');
  const obfs = mask.text('type');
  return hysteria2Draft(placeOf(name, settings), {
    password: transport.needText('auth'),
    tls,
    obfs,
    obfsPassword: obfs === undefined ? undefined : mask.fields('settings').text('password'),
  });
}

/** The server's settings. Newer configurations have the one server in the settings themselves. */
const serverOf = (settings: ForeignObject, list: string): ForeignObject =>
  settings.states(list) ? settings.only(list) : settings;

const userOf = (server: ForeignObject): ForeignObject =>
  server.states('users') ? server.only('users') : server;

const placeOf = (name: string, server: ForeignObject): NamedServer => ({
  name,
  server: bareHost(server.needText('address')),
  port: toPort(server.text('port')),
});

function streamFor(outbound: ForeignObject): StreamDraft | undefined {
  const stream = outbound.fields('streamSettings');
  const ws = stream.fields('wsSettings');
  const grpc = stream.fields('grpcSettings');
  for (const key of ['tcpSettings', 'rawSettings']) {
    const header = stream.fields(key).fields('header').text('type') ?? 'none';
    if (header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
  }
  const kind = transportOf(stream);
  return streamOf(
    {
      kind,
      path: ws.text('path'),
      host: ws.firstText('host') ?? ws.fields('headers').header('Host'),
      serviceName: grpc.text('serviceName'),
      authority: grpc.text('authority'),
    },
    tlsOf(stream),
  );
}

function tlsOf(stream: ForeignObject): Tls | undefined {
  const security = (stream.text('security') ?? '').toLowerCase();
  if (security === '' || security === 'none') return undefined;
  if (security === 'reality') throw new ImportError('REALITY is not supported');
  if (security !== 'tls')
    throw new ImportError(`the security ${JSON.stringify(security)} is not supported`);
  const tls = stream.fields('tlsSettings');
  const pin = PINS.find((key) => tls.list(key).some((each) => !isEmpty(each)));
  return {
    serverName: tls.text('serverName'),
    allowInsecure: tls.flag('allowInsecure'),
    caFile: caFileOf(tls),
    pinnedBy: pin && `streamSettings.tlsSettings.${pin}`,
  };
}

/** Keys with the hash of a certificate, or in older versions of a chain or a public key. */
const PINS = [
  'pinnedPeerCertSha256',
  'pinnedPeerCertificateSha256',
  'pinnedPeerCertificateChainSha256',
  'pinnedPeerCertificatePublicKeySha256',
] as const;

/** The CA file of TLS settings. Certificates for uses other than `verify` are the client's own, or a server's. */
function caFileOf(tls: ForeignObject): string | undefined {
  const certificates = tls
    .entries('certificates')
    .filter((each) => !isEmpty(each))
    .map((each) => new ForeignObject(each));
  const [first, ...others] = certificates;
  if (!first) return undefined;
  const file = first.firstText('certificateFile');
  if (first.text('usage') !== 'verify' || others.length > 0) {
    throw new ImportError('certificates of the client are not supported');
  }
  if (file === undefined) {
    throw new ImportError('certificates: write the CA to a file, and its name as ca_file');
  }
  return file;
}

function readWireGuard(name: string, settings: ForeignObject): Draft {
  const peer = settings.only('peers');
  return wireguardDraft(name, {
    privateKey: settings.needText('secretKey'),
    addresses: settings.list('address'),
    mtu: settings.number('mtu'),
    publicKey: peer.needText('publicKey'),
    presharedKey: peer.text('preSharedKey'),
    endpoint: peer.needText('endpoint'),
    keepalive: peer.number('keepAlive'),
    allowed: { key: 'allowedIPs', networks: peer.list('allowedIPs') },
    reserved: settings.list('reserved'),
  });
}
