import {
  bareHost,
  entryOf,
  ImportError,
  streamOf,
  toPort,
  type Draft,
  type Entry,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { Fields } from './fields.ts';
import {
  hysteria2Draft,
  proxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
} from './protocols.ts';
import { wireguardDraft } from './wireguard.ts';

/** The `proxies` of a configuration of Clash or mihomo. */
export function readClash(document: Fields): readonly Entry[] {
  return document
    .list('proxies')
    .map((each) => new Fields(each))
    .map((fields) => entryOf(fields.text('name') ?? '', () => readProxy(fields)));
}

function readProxy(fields: Fields): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('name') ?? '';
  switch (type) {
    case 'direct':
      return { name, protocol: 'freedom', settings: {} };
    case 'reject':
      return { name, protocol: 'blackhole', settings: {} };
    case 'wireguard':
      return readWireGuard(name, fields);
    default:
  }
  const place = {
    name,
    server: bareHost(fields.needText('server')),
    port: portOf(fields),
  };
  switch (type) {
    case 'ss':
      return shadowsocksDraft(place, undefined, {
        method: fields.needText('cipher'),
        password: fields.needText('password'),
        plugin: fields.text('plugin'),
      });
    case 'vmess':
      return vmessDraft(place, streamFor(fields, fields.flag('tls')), {
        id: fields.needText('uuid'),
        security: fields.text('cipher'),
        alterId: fields.text('alterId'),
      });
    case 'vless':
      return vlessDraft(place, streamFor(fields, fields.flag('tls')), {
        id: fields.needText('uuid'),
        flow: fields.text('flow'),
        encryption: fields.text('encryption'),
      });
    case 'trojan':
      return trojanDraft(place, streamFor(fields, true), fields.needText('password'));
    case 'hysteria2':
      return hysteria2Draft(place, {
        password: fields.needText('password'),
        tls: tlsOf(fields),
        obfs: fields.text('obfs'),
        obfsPassword: fields.text('obfs-password'),
      });
    case 'socks5':
    case 'http':
      return proxyDraft(
        type === 'http' ? 'http' : 'socks',
        place,
        streamFor(fields, fields.flag('tls')),
        { user: fields.text('username'), pass: fields.text('password') },
      );
    default:
      throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
  }
}

function portOf(fields: Fields): number {
  if (fields.has('ports')) throw new ImportError('several ports (port hopping) are not supported');
  return toPort(fields.text('port'));
}

function tlsOf(fields: Fields): Tls {
  if (fields.has('reality-opts')) throw new ImportError('REALITY is not supported');
  if (fields.has('fingerprint')) throw new ImportError('a pinned certificate is not supported');
  return {
    serverName: fields.text('servername') ?? fields.text('sni'),
    allowInsecure: fields.flag('skip-cert-verify'),
  };
}

function streamFor(fields: Fields, isTls: boolean): StreamDraft | undefined {
  const ws = fields.fields('ws-opts');
  if (ws.flag('v2ray-http-upgrade')) throw new ImportError('HTTP upgrade is not supported');
  return streamOf(
    {
      kind: fields.text('network') ?? '',
      path: ws.text('path'),
      host: ws.fields('headers').text('Host'),
      earlyData: ws.number('max-early-data'),
      serviceName: fields.fields('grpc-opts').text('grpc-service-name'),
    },
    isTls ? tlsOf(fields) : undefined,
  );
}

function readWireGuard(name: string, fields: Fields): Draft {
  const server = bareHost(fields.needText('server'));
  return wireguardDraft(name, {
    privateKey: fields.needText('private-key'),
    addresses: [...fields.list('ip'), ...fields.list('ipv6')],
    mtu: fields.number('mtu'),
    publicKey: fields.needText('public-key'),
    presharedKey: fields.text('pre-shared-key'),
    endpoint: `${server}:${toPort(fields.text('port'))}`,
    keepalive: fields.number('persistent-keepalive'),
    reserved: fields.list('reserved'),
  });
}
