import { printable, quoted } from '@weir/base/printable';
import { defineForms } from '../forms/contract.ts';
import { bareHost, ImportError, toPort, type Draft } from '../forms/draft.ts';
import { isEmpty, type ForeignObject } from '../forms/foreign-object.ts';

/** A tunnel of another program. */
export interface WireGuardTunnel {
  readonly privateKey: string;
  /** Addresses with or without a prefix length. */
  readonly addresses: readonly unknown[];
  readonly mtu?: number | undefined;
  readonly publicKey: string;
  readonly presharedKey?: string | undefined;
  /** Endpoint as `host:port`. */
  readonly endpoint: string;
  readonly keepalive?: number | undefined;
  /** Three bytes, or empty. */
  readonly reserved?: readonly unknown[] | undefined;
  /** The networks routed into the tunnel, and the name of the key that has them. */
  readonly allowed: { readonly key: string; readonly networks: readonly unknown[] };
}

/** A WireGuard outbound. @throws {ImportError} */
export function wireguardDraft(name: string, tunnel: WireGuardTunnel): Draft {
  const address = tunnel.addresses
    .filter((each) => !isEmpty(each))
    .map((each) => {
      if (typeof each !== 'string') throw new ImportError('an address is not text');
      return (each.split('/', 1)[0] ?? '').trim();
    });
  return {
    name,
    protocol: 'wireguard',
    settings: {
      private_key: tunnel.privateKey,
      peer_public_key: tunnel.publicKey,
      preshared_key: tunnel.presharedKey || undefined,
      endpoint: endpointOf(tunnel.endpoint),
      address,
      // 0 is the default of other programs.
      mtu: tunnel.mtu || undefined,
      keepalive: tunnel.keepalive || undefined,
      reserved: reservedOf((tunnel.reserved ?? []).filter((each) => !isEmpty(each))),
    },
    notes: limitNotes(tunnel.allowed),
  };
}

/** Lists of networks that cover all addresses of a family. */
const EVERYTHING = [['0.0.0.0/0'], ['0.0.0.0/1', '128.0.0.0/1'], ['::/0'], ['::/1', '8000::/1']];

/** Notes on the networks of a tunnel, unless they cover a whole family. */
function limitNotes({ key, networks }: WireGuardTunnel['allowed']): readonly string[] {
  const given = new Set(
    networks.filter((each) => !isEmpty(each)).map((each) => String(each).trim()),
  );
  if (given.size === 0 || EVERYTHING.some((all) => all.every((each) => given.has(each)))) return [];
  const shown = [...given].slice(0, 8).join(', ') + (given.size > 8 ? ', …' : '');
  return [
    `${quoted(key)} is not carried over: the outbound takes every flow that is routed to it; a rule with \`cidr\` limits it to ${printable(shown)}`,
  ];
}

/** Converts an endpoint to `host:port` with an unbracketed IPv6 host, the form of the setting. */
function endpointOf(text: string): string {
  const colon = text.lastIndexOf(':');
  if (colon < 0) throw new ImportError('its endpoint has no port');
  return `${bareHost(text.slice(0, colon))}:${text.slice(colon + 1)}`;
}

function reservedOf(given: readonly unknown[]): readonly number[] | undefined {
  if (given.length === 0) return undefined;
  const [first] = given;
  // Some clients write the three bytes as base64.
  if (given.length === 1 && typeof first === 'string') return [...Buffer.from(first, 'base64')];
  return given.map(Number);
}

function readSingBox(fields: ForeignObject, name: string): Draft {
  // An endpoint has a list of peers; the older outbound has the keys of the peer itself.
  const isEndpoint = fields.states('peers');
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
    allowed: { key: 'allowed_ips', networks: peer.list('allowed_ips') },
  });
}

function readClash(fields: ForeignObject, name: string): Draft {
  // mihomo also accepts a list of peers, which then has the keys of the peer.
  const peer = fields.states('peers') ? fields.only('peers') : fields;
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

function readXray(settings: ForeignObject, name: string): Draft {
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

export const wireguardForms = defineForms({
  singBox: { type: 'wireguard', read: readSingBox },
  clash: { type: 'wireguard', read: readClash },
  xray: { protocol: 'wireguard', read: readXray },
  clashApi: { outbound: 'WireGuard' },
});
