import { noteOn, UNKNOWN_KEY } from './verdicts.ts';
import { quoted } from '@weir/base/printable';
import { type Draft, ImportError } from '@weir/proxy/protocols/forms';
import { wireguardDraft } from '@weir/proxy/protocols/wireguard/forms';
import { entryOf, trimmedLines } from './entry.ts';
import { type Routing, serversAlone } from './routing.ts';

export function isWireGuardConf(text: string): boolean {
  if (!/\[interface\]/i.test(text)) return false;
  const lines = trimmedLines(text).map((line) => withoutComment(line).toLowerCase());
  const found = new Set(
    lines.flatMap((line) =>
      line === '[interface]' ? [line] : /^privatekey[ \t]*=/.test(line) ? ['key'] : [],
    ),
  );
  return found.size === 2;
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
      : [CONF_KEYS.get(key) ?? noteOn(key, UNKNOWN_KEY)],
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
  }).map(([key, reason]) => [key.toLowerCase(), noteOn(key, reason)] as const),
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
