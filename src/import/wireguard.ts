import { bareHost, entryOf, ImportError, linesOf, type Draft, type Entry } from './draft.ts';

/** A tunnel as other programs describe it. */
export interface WireGuardTunnel {
  readonly privateKey: string;
  /** With or without a prefix length. */
  readonly addresses: readonly unknown[];
  readonly mtu?: number | undefined;
  readonly publicKey: string;
  readonly presharedKey?: string | undefined;
  /** `host:port`. */
  readonly endpoint: string;
  readonly keepalive?: number | undefined;
  /** Three bytes, or none. */
  readonly reserved?: readonly unknown[] | undefined;
}

/** @throws {ImportError} */
export function wireguardDraft(name: string, tunnel: WireGuardTunnel): Draft {
  const address = tunnel.addresses.map((each) => {
    if (typeof each !== 'string') throw new ImportError('an address is not text');
    return (each.split('/', 1)[0] ?? '').trim();
  });
  return {
    name,
    protocol: 'wireguard',
    settings: {
      private_key: tunnel.privateKey,
      peer_public_key: tunnel.publicKey,
      preshared_key: tunnel.presharedKey,
      endpoint: endpointOf(tunnel.endpoint),
      address,
      mtu: tunnel.mtu,
      keepalive: tunnel.keepalive,
      reserved: reservedOf(tunnel.reserved ?? []),
    },
  };
}

/** `host:port` with an IPv6 host bare, as the setting takes it. */
function endpointOf(text: string): string {
  const colon = text.lastIndexOf(':');
  if (colon < 0) throw new ImportError('its endpoint has no port');
  return `${bareHost(text.slice(0, colon))}:${text.slice(colon + 1)}`;
}

function reservedOf(given: readonly unknown[]): readonly number[] | undefined {
  if (given.length === 0) return undefined;
  const [first] = given;
  // Three bytes as base64, as some clients write them.
  if (given.length === 1 && typeof first === 'string') return [...Buffer.from(first, 'base64')];
  return given.map(Number);
}

export function isWireGuardConf(text: string): boolean {
  const lines = linesOf(text).map((line) => line.toLowerCase());
  return lines.includes('[interface]') && lines.some((line) => /^privatekey[ \t]*=/.test(line));
}

/** The file of `wg-quick`, which has one interface and, here, one peer. */
export function readWireGuardConf(text: string): readonly Entry[] {
  const sections = new Map<string, Map<string, string>[]>();
  let section: Map<string, string> | undefined;
  for (const each of linesOf(text)) {
    const line = (each.split('#', 1)[0] ?? '').trim();
    const header = /^\[(\w+)\]$/.exec(line)?.[1]?.toLowerCase();
    if (header !== undefined) {
      section = new Map();
      sections.set(header, [...(sections.get(header) ?? []), section]);
      continue;
    }
    const equals = line.indexOf('=');
    if (equals < 0 || !section) continue;
    const key = line.slice(0, equals).trim().toLowerCase();
    const before = section.get(key);
    const value = line.slice(equals + 1).trim();
    section.set(key, before === undefined ? value : `${before},${value}`);
  }
  const own = sections.get('interface')?.[0];
  const peers = sections.get('peer') ?? [];
  return [entryOf('wireguard', () => readConf(own, peers))];
}

function readConf(
  own: ReadonlyMap<string, string> | undefined,
  [peer, ...others]: readonly ReadonlyMap<string, string>[],
): Draft {
  if (others.length > 0) throw new ImportError('more than one [Peer] is not supported');
  const need = (section: ReadonlyMap<string, string> | undefined, key: string): string => {
    const value = section?.get(key.toLowerCase());
    if (value === undefined) throw new ImportError(`it has no ${key}`);
    return value;
  };
  const optional = (section: ReadonlyMap<string, string> | undefined, key: string) => {
    const value = Number(section?.get(key));
    return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  };
  return wireguardDraft('wireguard', {
    privateKey: need(own, 'PrivateKey'),
    addresses: need(own, 'Address').split(','),
    mtu: optional(own, 'mtu'),
    publicKey: need(peer, 'PublicKey'),
    presharedKey: peer?.get('presharedkey'),
    endpoint: need(peer, 'Endpoint'),
    keepalive: optional(peer, 'persistentkeepalive'),
  });
}
