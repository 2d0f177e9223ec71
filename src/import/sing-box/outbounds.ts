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
import { isEmpty, type ForeignObject } from '../foreign-object.ts';
import { SING_BOX_KEYS } from '../keys/sing-box.ts';
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
  name: 'tag',
  verdicts: SING_BOX_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Reads the servers of a configuration. */
export const readOutbounds = (servers: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', servers).map((each) => readEntry(each, READER));

/** The `domain_strategy` of an outbound, or that of its resolver; Weir accepts the same values. */
function familyOf(fields: ForeignObject): string | undefined {
  const own = fields.text('domain_strategy') ?? '';
  const resolver = fields.list('domain_resolver')[0];
  const strategy =
    own === '' && typeof resolver === 'object'
      ? fields.fields('domain_resolver').text('strategy')
      : own;
  return strategy === '' ? undefined : strategy;
}

function readOutbound(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('tag') ?? '';
  switch (type) {
    case 'direct':
      return { name, protocol: 'freedom', settings: {} };
    case 'block':
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
    case 'vless':
      return vlessDraft(place, streamFor(fields), {
        id: fields.needText('uuid'),
        flow: fields.text('flow'),
      });
    case 'vmess':
      return vmessDraft(place, streamFor(fields), {
        id: fields.needText('uuid'),
        security: fields.text('security'),
        alterId: fields.text('alter_id'),
      });
    case 'trojan':
      return trojanDraft(place, streamFor(fields), fields.needText('password'));
    case 'shadowsocks':
      return shadowsocksDraft(place, undefined, {
        method: fields.needText('method'),
        password: fields.needText('password'),
        plugin: fields.text('plugin'),
      });
    case 'hysteria2': {
      const obfs = fields.fields('obfs');
      return hysteria2Draft(place, {
        password: fields.needText('password'),
        tls: tlsOf(fields) ?? {},
        obfs: obfs.text('type'),
        obfsPassword: obfs.text('password'),
      });
    }
    case 'socks':
    case 'http':
      if (type === 'socks' && !['5', ''].includes(fields.text('version') ?? '')) {
        throw new ImportError('SOCKS 4 is not supported');
      }
      return namedProxyDraft(type, place, streamFor(fields), {
        user: fields.text('username'),
        pass: fields.text('password'),
      });
    default:
      throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
  }
}

function portOf(fields: ForeignObject): number {
  if (fields.states('server_ports')) {
    throw new ImportError('several ports (port hopping) are not supported');
  }
  return toPort(fields.number('server_port'));
}

function tlsOf(fields: ForeignObject): Tls | undefined {
  const tls = fields.fields('tls');
  if (!tls.flag('enabled')) return undefined;
  if (tls.fields('reality').flag('enabled')) throw new ImportError('REALITY is not supported');
  const states = (key: string): boolean => tls.list(key).some((each) => !isEmpty(each));
  if (states('certificate')) {
    throw new ImportError('tls.certificate: write the CA to a file, and its name as ca_file');
  }
  return {
    serverName: tls.text('server_name'),
    allowInsecure: tls.flag('insecure'),
    caFile: tls.firstText('certificate_path'),
    pinnedBy: states(PUBLIC_KEY) ? `tls.${PUBLIC_KEY}` : undefined,
  };
}

const PUBLIC_KEY = 'certificate_public_key_sha256';

function streamFor(fields: ForeignObject): StreamDraft | undefined {
  const transport = fields.fields('transport');
  return streamOf(
    {
      kind: transport.text('type') ?? '',
      path: transport.text('path'),
      host: transport.fields('headers').header('Host'),
      earlyData: {
        key: 'transport.max_early_data',
        bytes: transport.number('max_early_data'),
        header: transport.text('early_data_header_name'),
      },
      serviceName: transport.text('service_name'),
    },
    tlsOf(fields),
  );
}

/** The peer of an endpoint, or of the older outbound, which has the keys of the peer itself. */
const peerOf = (
  fields: ForeignObject,
): { readonly fields: ForeignObject; readonly isEndpoint: boolean } =>
  fields.states('peers')
    ? { fields: fields.only('peers'), isEndpoint: true }
    : { fields, isEndpoint: false };

function readWireGuard(name: string, fields: ForeignObject): Draft {
  const { fields: peer, isEndpoint } = peerOf(fields);
  const server = peer.needText(isEndpoint ? 'address' : 'server');
  const port = toPort(peer.number(isEndpoint ? 'port' : 'server_port'));
  return wireguardDraft(name, {
    privateKey: fields.needText('private_key'),
    addresses: fields.list(isEndpoint ? 'address' : 'local_address'),
    mtu: fields.number('mtu'),
    publicKey: peer.needText(isEndpoint ? 'public_key' : 'peer_public_key'),
    presharedKey: peer.text('pre_shared_key'),
    endpoint: `${bareHost(server)}:${port}`,
    keepalive: peer.number('persistent_keepalive_interval'),
    reserved: peer.list('reserved'),
    allowed: { key: 'allowed_ips', networks: peer.list('allowed_ips') },
  });
}
