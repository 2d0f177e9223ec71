import {
  bareHost,
  entryOf,
  ImportError,
  onlyAead,
  onlyPlainVless,
  streamOf,
  toPort,
  vmessSecurity,
  type Draft,
  type Entry,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { Fields } from './fields.ts';
import { wireguardDraft } from './wireguard.ts';

/** Outbounds inside of the program. */
const INTERNAL: ReadonlySet<string> = new Set(['dns', 'loopback']);

/** The `outbounds` of a configuration of Xray or v2ray. */
export function readXray(document: Fields): readonly Entry[] {
  return document
    .list('outbounds')
    .map((each) => new Fields(each))
    .filter((fields) => !INTERNAL.has(fields.text('protocol') ?? ''))
    .map((fields) => entryOf(fields.text('tag') ?? '', () => readOutbound(fields)));
}

function readOutbound(fields: Fields): Draft {
  const name = fields.text('tag') ?? '';
  const protocol = fields.text('protocol') ?? '';
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
      onlyPlainVless(user.text('flow'), user.text('encryption'));
      return {
        ...placeOf(name, server),
        protocol,
        stream: streamFor(fields),
        settings: { id: user.needText('id') },
      };
    }
    case 'vmess': {
      const server = serverOf(settings, 'vnext');
      const user = userOf(server);
      onlyAead(user.text('alterId'));
      return {
        ...placeOf(name, server),
        protocol,
        stream: streamFor(fields),
        settings: { id: user.needText('id'), security: vmessSecurity(user.text('security')) },
      };
    }
    case 'trojan': {
      const server = serverOf(settings, 'servers');
      return {
        ...placeOf(name, server),
        protocol,
        stream: streamFor(fields),
        settings: { password: server.needText('password') },
      };
    }
    case 'shadowsocks': {
      const server = serverOf(settings, 'servers');
      return {
        ...placeOf(name, server),
        protocol,
        stream: streamFor(fields),
        settings: { method: server.needText('method'), password: server.needText('password') },
      };
    }
    case 'socks':
    case 'http': {
      const server = serverOf(settings, 'servers');
      const user = userOf(server);
      return {
        ...placeOf(name, server),
        protocol,
        stream: streamFor(fields),
        settings: { user: user.text('user'), pass: user.text('pass') },
      };
    }
    default:
      throw new ImportError(`the protocol ${JSON.stringify(protocol)} is not supported`);
  }
}

/** Newer configurations write the one server into the settings themselves. */
const serverOf = (settings: Fields, list: string): Fields =>
  settings.has(list) ? settings.only(list) : settings;

const userOf = (server: Fields): Fields => (server.has('users') ? server.only('users') : server);

const placeOf = (name: string, server: Fields): Pick<Draft, 'name' | 'server' | 'port'> => ({
  name,
  server: bareHost(server.needText('address')),
  port: toPort(server.text('port')),
});

function streamFor(outbound: Fields): StreamDraft | undefined {
  const stream = outbound.fields('streamSettings');
  const ws = stream.fields('wsSettings');
  const grpc = stream.fields('grpcSettings');
  for (const key of ['tcpSettings', 'rawSettings']) {
    const header = stream.fields(key).fields('header').text('type') ?? 'none';
    if (header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
  }
  const kind = stream.text('network') ?? '';
  return streamOf(
    {
      kind,
      path: ws.text('path'),
      host: ws.text('host') ?? ws.fields('headers').text('Host'),
      serviceName: grpc.text('serviceName'),
      authority: grpc.text('authority'),
    },
    tlsOf(stream),
  );
}

function tlsOf(stream: Fields): Tls | undefined {
  const security = stream.text('security') ?? '';
  if (security === '' || security === 'none') return undefined;
  if (security === 'reality') throw new ImportError('REALITY is not supported');
  if (security !== 'tls') throw new ImportError(`the security ${security} is not supported`);
  const tls = stream.fields('tlsSettings');
  for (const key of ['pinnedPeerCertSha256', 'pinnedPeerCertificateChainSha256']) {
    if (tls.has(key)) throw new ImportError('a pinned certificate is not supported');
  }
  return {
    serverName: tls.text('serverName'),
    allowInsecure: tls.flag('allowInsecure'),
    caFile: caFileOf(tls),
  };
}

/** Certificates of other uses than `verify` are the client's own, or of a server. */
function caFileOf(tls: Fields): string | undefined {
  const certificates = tls.list('certificates').map((each) => new Fields(each));
  const [first, ...others] = certificates;
  if (!first) return undefined;
  const file = first.text('certificateFile');
  if (first.text('usage') !== 'verify' || others.length > 0) {
    throw new ImportError('certificates of the client are not supported');
  }
  if (file === undefined) {
    throw new ImportError('certificates: write the CA to a file, and its name as ca_file');
  }
  return file;
}

function readWireGuard(name: string, settings: Fields): Draft {
  const peer = settings.only('peers');
  return wireguardDraft(name, {
    privateKey: settings.needText('secretKey'),
    addresses: settings.list('address'),
    mtu: settings.number('mtu'),
    publicKey: peer.needText('publicKey'),
    presharedKey: peer.text('preSharedKey'),
    endpoint: peer.needText('endpoint'),
    keepalive: peer.number('keepAlive'),
    reserved: settings.list('reserved'),
  });
}
