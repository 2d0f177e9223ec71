import {
  bareHost,
  entryOf,
  ImportError,
  noPlugin,
  onlyAead,
  onlyPlainVless,
  streamOf,
  tlsSettings,
  toPort,
  vmessSecurity,
  type Draft,
  type Entry,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { Fields } from './fields.ts';
import { wireguardDraft } from './wireguard.ts';

/** Outbounds that choose among others, or do what Weir has no outbound for. */
const GROUPS: ReadonlySet<string> = new Set(['selector', 'urltest', 'dns']);

/** The `outbounds` and `endpoints` of a sing-box configuration. */
export function readSingBox(document: Fields): readonly Entry[] {
  return [...document.list('outbounds'), ...document.list('endpoints')]
    .map((each) => new Fields(each))
    .filter((fields) => !GROUPS.has(fields.text('type') ?? ''))
    .map((fields) => entryOf(fields.text('tag') ?? '', () => readOutbound(fields)));
}

function readOutbound(fields: Fields): Draft {
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
      onlyPlainVless(fields.text('flow'), undefined);
      return {
        ...place,
        protocol: 'vless',
        stream: streamFor(fields),
        settings: { id: fields.needText('uuid') },
      };
    case 'vmess':
      onlyAead(fields.text('alter_id'));
      return {
        ...place,
        protocol: 'vmess',
        stream: streamFor(fields),
        settings: {
          id: fields.needText('uuid'),
          security: vmessSecurity(fields.text('security')),
        },
      };
    case 'trojan':
      return {
        ...place,
        protocol: 'trojan',
        stream: streamFor(fields),
        settings: { password: fields.needText('password') },
      };
    case 'shadowsocks':
      noPlugin(fields.text('plugin'));
      return {
        ...place,
        protocol: 'shadowsocks',
        settings: { method: fields.needText('method'), password: fields.needText('password') },
      };
    case 'hysteria2': {
      const obfs = fields.fields('obfs');
      const tls = tlsOf(fields) ?? {};
      return {
        ...place,
        protocol: 'hysteria2',
        settings: {
          password: fields.needText('password'),
          ...tlsSettings(tls),
          obfs: obfs.text('type'),
          obfs_password: obfs.text('password'),
        },
      };
    }
    case 'socks':
    case 'http':
      if (type === 'socks' && !['5', undefined].includes(fields.text('version'))) {
        throw new ImportError('SOCKS 4 is not supported');
      }
      return {
        ...place,
        protocol: type,
        stream: streamFor(fields),
        settings: { user: fields.text('username'), pass: fields.text('password') },
      };
    default:
      throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
  }
}

function portOf(fields: Fields): number {
  if (fields.has('server_ports')) {
    throw new ImportError('several ports (port hopping) are not supported');
  }
  return toPort(fields.number('server_port'));
}

function tlsOf(fields: Fields): Tls | undefined {
  const tls = fields.fields('tls');
  if (!tls.flag('enabled')) return undefined;
  if (tls.fields('reality').flag('enabled')) throw new ImportError('REALITY is not supported');
  for (const key of ['certificate', 'certificate_public_key_sha256']) {
    if (tls.list(key).length > 0) {
      throw new ImportError(`tls.${key}: write the CA to a file, and its name as ca_file`);
    }
  }
  return {
    serverName: tls.text('server_name'),
    allowInsecure: tls.flag('insecure'),
    caFile: tls.text('certificate_path'),
  };
}

function streamFor(fields: Fields): StreamDraft | undefined {
  const transport = fields.fields('transport');
  return streamOf(
    {
      kind: transport.text('type') ?? '',
      path: transport.text('path'),
      host: firstText(transport.fields('headers'), ['Host', 'host']),
      earlyData: transport.number('max_early_data'),
      serviceName: transport.text('service_name'),
    },
    tlsOf(fields),
  );
}

/** Headers have one value or a list. */
function firstText(headers: Fields, names: readonly string[]): string | undefined {
  const values = names.flatMap((name) => headers.list(name));
  return values.find((value) => typeof value === 'string');
}

function readWireGuard(name: string, fields: Fields): Draft {
  const isEndpoint = fields.has('peers');
  const peer = isEndpoint ? fields.only('peers') : fields;
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
  });
}
