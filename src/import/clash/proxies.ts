import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type Draft,
  type ImportedEntry,
  type StreamDraft,
  type Tls,
  type Transport,
  withNameOfHost,
} from '../draft.ts';
import type { ForeignObject } from '../foreign-object.ts';
import { CLASH_KEYS, isBrowser } from '../keys/clash.ts';
import {
  hysteria2Draft,
  namedProxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
} from '../protocol-drafts.ts';
import { readEntry, type EntryReader } from '../read-entry.ts';
import { bounded } from '../targets.ts';
import { wireguardDraft } from '../wireguard.ts';

const READER: EntryReader = {
  name: 'name',
  verdicts: CLASH_KEYS,
  read: readProxy,
  family: familyOf,
};

/** Reads the `proxies` of a configuration of Clash or mihomo. */
export const readProxies = (proxies: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', proxies).map((each) => readEntry(each, READER));

const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['dual', undefined],
  ['ipv4', 'ipv4_only'],
  ['ipv6', 'ipv6_only'],
  ['ipv4-prefer', 'prefer_ipv4'],
  ['ipv6-prefer', 'prefer_ipv6'],
]);

/** The address family of a proxy. @throws {ImportError} for an unknown version */
function familyOf(fields: ForeignObject): string | undefined {
  const version = fields.text('ip-version') ?? '';
  if (FAMILIES.has(version)) return FAMILIES.get(version);
  throw new ImportError(`the ip-version ${JSON.stringify(version)} is unknown`);
}

function readProxy(fields: ForeignObject): Draft {
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
    port: portOf(fields, type),
  };
  switch (type) {
    case 'ss':
      return shadowsocksDraft(place, undefined, {
        method: fields.needText('cipher'),
        password: fields.needText('password'),
        plugin: fields.text('plugin'),
      });
    case 'vmess':
      return vmessDraft(place, streamFor(fields, fields.flag('tls'), withNameOfHost), {
        id: fields.needText('uuid'),
        security: fields.text('cipher'),
        alterId: fields.text('alterId'),
      });
    case 'vless':
      return vlessDraft(place, streamFor(fields, fields.flag('tls'), withNameOfHost), {
        id: fields.needText('uuid'),
        flow: fields.text('flow'),
        encryption: fields.text('encryption'),
      });
    case 'trojan':
      return trojanDraft(place, streamFor(fields, true), fields.needText('password'));
    case 'hysteria2':
      return hysteria2Draft(place, {
        password: fields.needText('password'),
        tls: { ...tlsOf(fields), caFile: fields.firstText('ca') },
        obfs: fields.text('obfs'),
        obfsPassword: fields.text('obfs-password'),
      });
    case 'socks5':
    case 'http':
      return namedProxyDraft(
        type === 'http' ? 'http' : 'socks',
        place,
        streamFor(fields, fields.flag('tls')),
        { user: fields.text('username'), pass: fields.text('password') },
      );
    default:
      throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
  }
}

function portOf(fields: ForeignObject, type: string): number {
  // Other types have no such key.
  if (type === 'hysteria2' && fields.states('ports'))
    throw new ImportError('several ports (port hopping) are not supported');
  return toPort(fields.text('port'));
}

function tlsOf(fields: ForeignObject): Tls {
  if (fields.fields('reality-opts').firstText('public-key') !== undefined) {
    throw new ImportError('REALITY is not supported');
  }
  const isPinned =
    !isBrowser(fields.peek('fingerprint')) && fields.firstText('fingerprint') !== undefined;
  return {
    serverName: fields.firstText('servername', 'sni'),
    allowInsecure: fields.flag('skip-cert-verify'),
    pinnedBy: isPinned ? 'fingerprint' : undefined,
  };
}

/** @param named completes the TLS settings for a transport */
function streamFor(
  fields: ForeignObject,
  isTls: boolean,
  named: typeof withNameOfHost = (tls) => tls,
): StreamDraft | undefined {
  const ws = fields.fields('ws-opts');
  if (ws.flag('v2ray-http-upgrade')) throw new ImportError('HTTP upgrade is not supported');
  const transport: Transport = {
    kind: fields.text('network') ?? '',
    path: ws.text('path'),
    host: ws.fields('headers').header('Host'),
    earlyData: {
      key: 'ws-opts.max-early-data',
      bytes: ws.number('max-early-data'),
      header: ws.text('early-data-header-name'),
    },
    // mihomo's default (`transport/gun/gun.go`).
    serviceName: fields.fields('grpc-opts').firstText('grpc-service-name') ?? 'GunService',
  };
  return streamOf(transport, named(isTls ? tlsOf(fields) : undefined, transport));
}

/** The fields of the peer. mihomo also accepts a list of peers, which then has the keys of the peer. */
const peerOf = (fields: ForeignObject): ForeignObject =>
  fields.states('peers') ? fields.only('peers') : fields;

function readWireGuard(name: string, fields: ForeignObject): Draft {
  const peer = peerOf(fields);
  const server = bareHost(peer.needText('server'));
  return wireguardDraft(name, {
    privateKey: fields.needText('private-key'),
    addresses: [...fields.list('ip'), ...fields.list('ipv6')],
    mtu: fields.number('mtu'),
    publicKey: peer.needText('public-key'),
    presharedKey: peer.text('pre-shared-key'),
    endpoint: `${server}:${toPort(peer.text('port'))}`,
    keepalive: fields.number('persistent-keepalive'),
    reserved: peer.list('reserved'),
    allowed: { key: 'allowed-ips', networks: peer.list('allowed-ips') },
  });
}
