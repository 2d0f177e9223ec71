import { ImportError, bareHost, toPort, type Draft } from '@weir/proxy/protocols/forms';
import { looselyFromBase64 } from '@weir/proxy/protocols/forms';
import { ForeignObject, isEmpty } from '@weir/proxy/protocols/forms';
import { shadowsocksDraft } from '@weir/proxy/protocols/shadowsocks/forms';
import { readClash, refuseLongList } from './clash/clash.ts';
import { trimmedLines, nameOf, readEntries, type EntryReader } from './entry.ts';
import { hasShareLink, isLinkList, readShareLinks } from './links/share-links.ts';
import { looksLikeJson, parseJson } from './parse/json.ts';
import { parseYaml } from './parse/yaml.ts';
import {
  serversAlone,
  type Routing,
  type Target,
  type ImportedEntry,
  bounded,
  isServer,
} from './routing.ts';
import { readSingBox } from './sing-box/sing-box.ts';
import { isInformation } from './values/information.ts';
import { type KeyGroups, keysOf, keyTable, TUNING } from './verdicts.ts';
import { isWireGuardConf, readWireGuardConf } from './wireguard.ts';
import { readXray } from './xray/xray.ts';

/** A document, with its detected format. */
export interface Imported extends Routing {
  /** Name of the format: `a configuration of Clash or mihomo`. */
  readonly kind: string;
}

/** Maximum bytes of a document. */
export const LARGEST_DOCUMENT = 16 * 1024 * 1024;

/**
 * Reads the servers of another program's document: share links, one per line, possibly as base64; a configuration of
 * sing-box, Xray, v2ray, Clash or mihomo; a file of wg-quick.
 *
 * @throws {ImportError} for any other document
 */
export function readForeign(text: string): Imported {
  const trimmed = text.replace(/^[\s\u200B]+/, '').trim();
  if (trimmed.startsWith('<')) throw new ImportError('a web page, not a document of servers');
  const found = readPlain(trimmed) ?? readCoded(trimmed);
  if (found) return found;
  throw new ImportError(
    'neither share links, nor JSON of sing-box, Xray or SIP008, nor YAML of Clash, nor a wg-quick file',
  );
}

function readPlain(text: string): Imported | undefined {
  if (isLinkList(text)) return links(text);
  if (isWireGuardConf(text)) return { kind: 'a wg-quick file', ...readWireGuardConf(text) };
  if (looksLikeJson(text)) return readJson(text);
  if (isClash(text)) return readYaml(text);
  // Other lines become entries that are left out.
  return hasShareLink(text) ? links(text) : undefined;
}

/** Reads base64, optionally below comment lines that a panel has added. */
function readCoded(text: string): Imported | undefined {
  const lines = trimmedLines(text).filter((line) => !/^(?:#|\/\/|;)/.test(line));
  const plain = looselyFromBase64(lines.toArray().join(''))?.trim();
  const found = plain === undefined ? undefined : readPlain(plain);
  if (found) return found;
  return trimmedLines(text).some((line) => codedList(line) !== undefined) ? links(text) : undefined;
}

/** The list of links that a line is in base64, as in concatenated lists. */
function codedList(line: string): string | undefined {
  const plain = isBase64(line) ? looselyFromBase64(line) : undefined;
  return plain !== undefined && hasShareLink(plain) ? plain : undefined;
}

/** Looks for another character: a repeated class takes memory for each, and fails in a line of 8 million. */
const isBase64 = (line: string): boolean => line.length >= 16 && !/[^\w+/=-]/.test(line);

/** Whether a text has a line with a key that identifies a configuration of Clash. */
const isClash = (text: string): boolean =>
  /^["']?(?:proxies|Proxy|proxy-providers|proxy-groups|rules)["']?[ \t]*:/m.test(text);

const links = (text: string): Imported => ({
  kind: 'share links',
  ...withoutMessages(readShareLinks(text, codedList)),
});

/** Removes messages of the provider from a list, whose default is the first remaining entry. */
const withoutMessages = (list: Routing): Routing => ({
  ...list,
  entries: list.entries.map(withoutMessage),
});

const withoutMessage = (entry: ImportedEntry): ImportedEntry =>
  entry.draft && isInformation(entry.draft.name)
    ? { name: entry.draft.name, skipped: MESSAGE }
    : entry;

const MESSAGE = 'it is a message of the provider, not a server';

/** Removes messages of the provider from a document, except those that a rule or the default names. */
function withoutUnusedMessages(routing: Routing): Routing {
  const { entries, groups, rules, standard } = withoutMessageMembers(routing);
  const used = new Set<number>();
  const targets = [
    standard,
    ...groups.flatMap(({ members }) => members),
    ...rules.map((rule) => ('target' in rule ? rule.target : undefined)),
  ];
  for (const target of targets) if (target?.kind === 'entry') used.add(target.index);
  return {
    ...routing,
    groups,
    entries: entries.map((entry, index) => (used.has(index) ? entry : withoutMessage(entry))),
  };
}

/** Removes messages of the provider from the groups of a document. */
function withoutMessageMembers(routing: Routing): Routing {
  const isMessage = (target: Target | undefined): boolean =>
    target?.kind === 'entry' && isInformation(routing.entries[target.index]?.draft?.name ?? '');
  return {
    ...routing,
    groups: routing.groups.map((group) => {
      const members = group.members.filter((each) => !isMessage(each));
      const left = group.members.length - members.length;
      if (left === 0 || members.length === 0) return group;
      const chosen = group.members[group.chosen ?? 0];
      return {
        ...group,
        members,
        chosen: chosen && !isMessage(chosen) ? members.indexOf(chosen) : undefined,
        notes: [...group.notes, `${left} of its members are messages of the provider, not servers`],
      };
    }),
  };
}

function readJson(text: string): Imported {
  const value = parseJson(text);
  if (isSip008(value)) return { kind: 'a list of SIP008', ...withoutMessages(readSip008(value)) };
  if (Array.isArray(value)) return readJsonList(value);
  return isOutbound(value) ? readObject({ outbounds: [value] }) : readObject(value);
}

/** Whether a value is a single outbound of sing-box or Xray. */
const isOutbound = (value: unknown): boolean =>
  isMapping(value) &&
  !('outbounds' in value || 'endpoints' in value) &&
  (typeof value['protocol'] === 'string' || typeof value['type'] === 'string');

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a JSON list: of links, of outbounds, or, as some panels send it, of configurations with a server each, whose
 * name is that of the configuration.
 */
function readJsonList(list: readonly unknown[]): Imported {
  if (list.some(isOutbound)) return readObject({ outbounds: list });
  // A configuration with servers identifies the format of the others better than one without.
  const first = list.find((each) => isMapping(each) && !isEmpty(each['outbounds']));
  if (first === undefined) {
    // A value that is not a text becomes an entry too, which is left out.
    const lines = list.map((each) => (typeof each === 'string' ? each : '?'));
    if (lines.some(hasShareLink)) return links(lines.join('\n'));
    throw new ImportError('JSON without "outbounds"');
  }
  const { kind } = readObject(first);
  const found = bounded('servers', list).map((each, index) => readConfigInList(each, index));
  return {
    kind: `a list of ${kind.replace('a configuration', 'configurations')}`,
    ...withoutMessages(
      serversAlone(
        bounded(
          'servers',
          found.flatMap(({ entries }) => entries),
        ),
      ),
    ),
    keys: found.flatMap(({ keys }) => keys).slice(0, MOST_KEYS),
  };
}

/** Maximum number of reported keys of a list of configurations. */
const MOST_KEYS = 500;

/** Reads the servers of one configuration in a list, without its built-in outbounds and its routing. */
function readConfigInList(value: unknown, index: number): Pick<Routing, 'entries' | 'keys'> {
  const path = `[${index}]`;
  try {
    const { entries, rules, groups, inbounds } = readObject(value);
    const lost = rules.length + groups.length + inbounds.length > 0;
    return {
      entries: entries.filter(isServer),
      keys: lost ? [{ path, status: 'skipped', reason: ROUTING_OF_ONE }] : [],
    };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { entries: [{ name: path, skipped: error.message }], keys: [] };
  }
}

const ROUTING_OF_ONE = 'rules, groups and inbounds of one configuration among several';

function readObject(value: unknown): Imported {
  if (isMapping(value) && !('outbounds' in value) && Array.isArray(value['proxies'])) {
    return clashOf(value);
  }
  const document = new ForeignObject(value, 'the document', 'reported');
  const outbounds = [...document.entries('outbounds'), ...document.entries('endpoints')];
  if (outbounds.length === 0) throw new ImportError('JSON without "outbounds"');
  const remarks = document.text('remarks') ?? '';
  const routing: Routing & Pick<Imported, 'kind'> = outbounds.some(
    (each) => nameOf(each, 'protocol') !== '',
  )
    ? { kind: 'a configuration of Xray or v2ray', ...readXray(document) }
    : { kind: 'a configuration of sing-box', ...readSingBox(document) };
  return {
    ...withoutUnusedMessages({ ...routing, entries: named(routing.entries, remarks) }),
    kind: routing.kind,
  };
}

/**
 * Names the servers of a configuration in a list: its first one, which receives all flows, gets the configuration's
 * name. If there are several, the others get it as a prefix.
 */
function named(entries: readonly ImportedEntry[], remarks: string): readonly ImportedEntry[] {
  if (remarks === '') return entries;
  const read = entries.findIndex((entry) => entry.draft !== undefined && isServer(entry));
  const first = read < 0 ? entries.findIndex(isServer) : read;
  return entries.map((entry, index) => {
    if (!isServer(entry)) return entry;
    const nameFrom = (own: string): string => (index === first ? remarks : `${remarks} ${own}`);
    return entry.draft
      ? { ...entry, draft: { ...entry.draft, name: nameFrom(entry.draft.name) } }
      : { ...entry, name: nameFrom(entry.name) };
  });
}

const readYaml = (text: string): Imported => clashOf(parseYaml(text, refuseLongList));

const clashOf = (value: unknown): Imported => ({
  kind: 'a configuration of Clash or mihomo',
  ...withoutUnusedMessages(readClash(new ForeignObject(value, 'the document', 'reported'))),
});

/** Keys of the clients shadowsocks-libev and shadowsocks-rust, whose files have servers as SIP008 has them. */
const CLIENT_KEYS: KeyGroups = {
  dropped: {
    'SOCKS is on port 1080 and HTTP on 8080':
      'local_address local_port locals local_udp_address local_udp_port protocol',
    [TUNING]: `timeout udp_timeout udp_max_associations fast_open no_delay keep_alive reuse_port ipv6_first mptcp mtu
      nofile workers runtime runtime.* balancer balancer.* ipv6_only tcp_weight udp_weight outbound_send_buffer_size
      outbound_recv_buffer_size inbound_send_buffer_size inbound_recv_buffer_size`,
    'TCP and UDP are sent; limit them by `network` in a rule': 'mode',
    'connections leave by the routes of the system':
      'interface outbound_fwmark outbound_bind_addr outbound_bind_interface',
    'the log goes to standard error; see docs/service.md': 'log log.* verbose',
    'write the name server as [dns]': 'dns nameserver',
    'write its entries as rules': 'acl',
  },
};

/** Keys of a server (https://shadowsocks.org/doc/sip008.html) that are not carried over. */
const SERVER_KEYS = keyTable({ same: 'id plugin_opts group owner' }, CLIENT_KEYS);

/** Keys of a document in addition to `servers`. */
const DOCUMENT_KEYS = keyTable(
  {
    same: 'version username user_uuid',
    dropped: { 'it is what the provider counts': 'bytes_used bytes_remaining' },
  },
  CLIENT_KEYS,
);

const READER: EntryReader = {
  name: 'remarks',
  verdicts: SERVER_KEYS,
  read: readServer,
  family: () => undefined,
};

/** Whether a JSON value is a list of Shadowsocks servers: SIP008, or only its servers. */
function isSip008(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((each) => isSip008Server(each));
  if (isSip008Server(value)) return true;
  if (typeof value !== 'object' || value === null || !('servers' in value)) return false;
  return Array.isArray(value.servers) && !('outbounds' in value);
}

const isSip008Server = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'server' in value &&
  'method' in value &&
  // An outbound of sing-box has the same keys, and `type` as well.
  !('type' in value);

/** Reads SIP008 version 1, or an array of its servers, or a single server. */
function readSip008(value: unknown): Routing {
  const document = new ForeignObject(
    Array.isArray(value) || isSip008Server(value) ? { servers: value } : value,
  );
  return {
    ...serversAlone(readEntries(document.list('servers'), READER)),
    keys: keysOf(document, DOCUMENT_KEYS),
  };
}

function readServer(fields: ForeignObject): Draft {
  const place = {
    name: fields.text('remarks') ?? '',
    // `address` and `port` are those of shadowsocks-rust.
    server: bareHost(fields.text('server') ?? fields.text('address') ?? fields.needText('server')),
    port: toPort(fields.text('server_port') ?? fields.text('port')),
  };
  return shadowsocksDraft(place, undefined, {
    method: fields.needText('method'),
    password: fields.needText('password'),
    plugin: fields.text('plugin'),
  });
}
