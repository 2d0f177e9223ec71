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
      if (type === 'socks' && !['5', undefined].includes(fields.text('version'))) {
        throw new ImportError('SOCKS 4 is not supported');
      }
      return proxyDraft(type, place, streamFor(fields), {
        user: fields.text('username'),
        pass: fields.text('password'),
      });
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
