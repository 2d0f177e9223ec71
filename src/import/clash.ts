import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type Draft,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { followGroups, type DefaultRoute, type Group, type Servers } from './default-route.ts';
import { ForeignObject } from './foreign-object.ts';
import { CLASH_KEYS } from './keys/clash.ts';
import {
  hysteria2Draft,
  proxyDraft,
  shadowsocksDraft,
  trojanDraft,
  vlessDraft,
  vmessDraft,
} from './protocol-drafts.ts';
import { nameOf, readEntry, type EntryReader } from './read-entry.ts';
import { wireguardDraft } from './wireguard.ts';

const READER: EntryReader = {
  name: 'name',
  verdicts: CLASH_KEYS,
  read: readProxy,
  family: familyOf,
};

/** The `proxies` of a configuration of Clash or mihomo. */
export function readClash(document: ForeignObject): Servers {
  const proxies = document.list('proxies');
  const rules = document.list('rules');
  const groups = groupsOf(document);
  return {
    entries: proxies.map((each) => readEntry(each, READER)),
    groups: groups.size,
    rules: rules.length,
    standard: defaultOf(
      document,
      rules,
      groups,
      proxies.map((each) => nameOf(each, 'name')),
    ),
  };
}

function groupsOf(document: ForeignObject): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const each of document.list('proxy-groups')) {
    const name = nameOf(each, 'name');
    if (name === '') continue;
    const fields = new ForeignObject(each);
    const members = fields.list('proxies').filter((member) => typeof member === 'string');
    groups.set(name, { members, choosesOne: fields.text('type') === 'select' });
  }
  return groups;
}

/** Types of rules that match every flow. */
const CATCH_ALL: ReadonlySet<string> = new Set(['MATCH', 'FINAL']);

/** The target of `MATCH,target`; `undefined` for any other rule. */
function catchAllTarget(rule: unknown): string | undefined {
  if (typeof rule !== 'string') return undefined;
  const [kind = '', target = ''] = rule.split(',', 2).map((part) => part.trim());
  return CATCH_ALL.has(kind.toUpperCase()) && target !== '' ? target : undefined;
}

/** The target of the rule that matches everything; without one Clash connects directly. */
function defaultOf(
  document: ForeignObject,
  rules: readonly unknown[],
  groups: ReadonlyMap<string, Group>,
  names: readonly string[],
): DefaultRoute {
  switch ((document.text('mode') ?? '').toLowerCase()) {
    case 'direct':
      return { kind: 'direct' };
    case 'global':
      return groups.has('GLOBAL') ? followGroups('GLOBAL', groups, names) : { kind: 'unstated' };
    default:
  }
  if (rules.length === 0) return { kind: 'unstated' };
  for (const rule of rules) {
    const target = catchAllTarget(rule);
    if (target !== undefined) return followGroups(target, groups, names);
  }
  return { kind: 'direct' };
}

const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['dual', undefined],
  ['ipv4', 'ipv4_only'],
  ['ipv6', 'ipv6_only'],
  ['ipv4-prefer', 'prefer_ipv4'],
  ['ipv6-prefer', 'prefer_ipv6'],
]);

/** @throws {ImportError} for an unknown version. */
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
        tls: { ...tlsOf(fields), caFile: fields.text('ca') },
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

function portOf(fields: ForeignObject): number {
  if (fields.has('ports')) throw new ImportError('several ports (port hopping) are not supported');
  return toPort(fields.text('port'));
}

function tlsOf(fields: ForeignObject): Tls {
  if (fields.has('reality-opts')) throw new ImportError('REALITY is not supported');
  if (fields.has('fingerprint')) throw new ImportError('a pinned certificate is not supported');
  return {
    serverName: fields.text('servername') ?? fields.text('sni'),
    allowInsecure: fields.flag('skip-cert-verify'),
  };
}

function streamFor(fields: ForeignObject, isTls: boolean): StreamDraft | undefined {
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

/** mihomo also accepts a list of peers, which then holds the keys of the peer. */
const peerOf = (fields: ForeignObject): ForeignObject =>
  fields.has('peers') ? fields.only('peers') : fields;

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
