import { printable, quoted } from '../printable.ts';
import { bareHost, entryOf, ImportError, trimmedLines, type Draft } from './draft.ts';
import { isEmpty } from './foreign-object.ts';
import { serversAlone, type Routing } from './routing.ts';

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

export function isWireGuardConf(text: string): boolean {
  const lines = trimmedLines(text).map((line) => withoutComment(line).toLowerCase());
  return lines.includes('[interface]') && lines.some((line) => /^privatekey[ \t]*=/.test(line));
}

/** Reads a file of `wg-quick`: one interface, and one peer, as Weir supports. */
export function readWireGuardConf(text: string): Routing {
  const sections = sectionsOf(text);
  const entry = entryOf('wireguard', () => {
    const [own] = sections.get('interface') ?? [];
    const peers = sections.get('peer') ?? [];
    return { draft: readConf(own, peers), notes: confNotes(own, peers[0]) };
  });
  return serversAlone([entry]);
}

const withoutComment = (line: string): string => (line.split('#', 1)[0] ?? '').trim();

type Section = ReadonlyMap<string, string>;

/**
 * The sections of a file, by lower-case name. Keys are in lower case too; values of a repeated key are joined by commas
 * if it is a list, otherwise the last one counts.
 */
function sectionsOf(text: string): ReadonlyMap<string, readonly Section[]> {
  const sections = new Map<string, Map<string, string>[]>();
  let section: Map<string, string> | undefined;
  for (const each of trimmedLines(text)) {
    const line = withoutComment(each);
    const header = /^\[(\w+)\]$/.exec(line)?.[1]?.toLowerCase();
    if (header !== undefined) {
      section = new Map();
      const before = sections.get(header);
      if (before) before.push(section);
      else sections.set(header, [section]);
      continue;
    }
    const equals = line.indexOf('=');
    if (equals < 0 || !section) continue;
    const key = line.slice(0, equals).trim().toLowerCase();
    const before = LISTS.has(key) ? section.get(key) : undefined;
    const value = line.slice(equals + 1).trim();
    // An empty key counts as absent.
    if (value !== '') section.set(key, before === undefined ? value : `${before},${value}`);
  }
  return sections;
}

/** Keys with lists, in lower case. */
const LISTS: ReadonlySet<string> = new Set(['address', 'allowedips', 'dns']);

/** Notes on the keys of wg-quick that are not carried over. */
function confNotes(own: Section | undefined, peer: Section | undefined): readonly string[] {
  const read = new Set(READ_BY_CONF);
  return [...(own ?? []), ...(peer ?? [])].flatMap(([key]) =>
    read.has(key) || /^(?:[hsij]\d|jc|jmin|jmax|itime)$/.test(key)
      ? []
      : [CONF_KEYS.get(key) ?? unknownKey(key)],
  );
}

const READ_BY_CONF: readonly string[] = [
  'privatekey',
  'address',
  'mtu',
  'publickey',
  'presharedkey',
  'endpoint',
  'persistentkeepalive',
  'allowedips',
];

const unknownKey = (key: string): string =>
  `${quoted(key)} is not carried over: this key is unknown here`;

/** Keys of wg-quick(8) and wg(8) that are not carried over, in lower case. */
const CONF_KEYS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    DNS: 'names are resolved by [dns]',
    Table: 'the tunnel has a TCP/IP stack of its own and no routes',
    PreUp: 'no command is run',
    PostUp: 'no command is run',
    PreDown: 'no command is run',
    PostDown: 'no command is run',
    SaveConfig: 'the configuration is never written back',
    ListenPort: 'the tunnel leaves by a port that the kernel chooses',
    FwMark: 'connections leave by the routes of the system',
  }).map(
    ([key, reason]) =>
      [key.toLowerCase(), `${quoted(key)} is not carried over: ${reason}`] as const,
  ),
);

/**
 * Whether a key of AmneziaWG makes packets differ from WireGuard's: junk, padding, and message types, which are 1 to 4
 * in WireGuard.
 */
function isAmnezia(key: string, value: string): boolean {
  const [, letters, digits] = /^(h|[sij]|jc|jmin|jmax|itime)(\d?)$/.exec(key) ?? [];
  if (letters === undefined || value === '') return false;
  return letters === 'h' ? value !== digits : !/^0+$/.test(value);
}

function readConf(own: Section | undefined, [peer, ...others]: readonly Section[]): Draft {
  if (others.length > 0) throw new ImportError('more than one [Peer] is not supported');
  const changed = [...(own ?? [])].find(([key, value]) => isAmnezia(key, value));
  if (changed) throw new ImportError(`${quoted(changed[0])}: AmneziaWG is not supported`);
  const need = (section: Section | undefined, key: string): string => {
    const value = section?.get(key.toLowerCase());
    if (value === undefined) throw new ImportError(`it has no ${key}`);
    return value;
  };
  const optional = (section: Section | undefined, key: string) => {
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
    allowed: {
      key: 'AllowedIPs',
      networks: (peer?.get('allowedips') ?? '').split(',').filter(Boolean),
    },
  });
}
