import { formatCidr, parseInterfaceAddress, withoutHostBits } from '@weir/base/ip';
import { protocolNames } from '@weir/proxy/protocols';
import { suggestion } from '@weir/proxy/schema';

/** Names of protocols in other programs, and their names here. */
const PROTOCOLS_ELSEWHERE: Readonly<Record<string, string>> = {
  reject: 'blackhole',
  drop: 'blackhole',
  deny: 'blackhole',
  bypass: 'freedom',
  pass: 'freedom',
  ss: 'shadowsocks',
  shadowsocks2022: 'shadowsocks',
  wg: 'wireguard',
  socks4: 'socks',
  socks5: 'socks',
  hysteria1: 'hysteria2',
};

/** Outbound types of other programs that are tables of their own here. */
const GROUPS = new Set(['selector', 'select', 'urltest', 'url-test', 'fallback', 'load-balance']);

/** Returns the hint for an unknown `protocol`: its value, the choices, and the likely intention. */
export function protocolHint(name: string, side: 'inbound' | 'outbound'): string {
  const other = side === 'inbound' ? 'outbound' : 'inbound';
  const written = `protocol${valueShown(name)}`;
  const choices = protocolNames(side);
  const listed = `an ${side} has ${choices.join(', ')}`;
  if (protocolNames(other).includes(name) && !choices.includes(name))
    return `${written} is for an ${other}; ${listed}`;
  const lower = name.toLowerCase();
  if (side === 'outbound' && GROUPS.has(lower)) {
    return `${written}: several outbounds behind one tag are a [[balancer]] with a tag and a list of outbounds, which rules name as they name an outbound; ${listed}`;
  }
  if (side === 'inbound' && lower === 'mixed') {
    return `${written}: SOCKS and HTTP are two inbounds here, each on its own port; ${listed}`;
  }
  const elsewhere = PROTOCOLS_ELSEWHERE[lower];
  const meant = elsewhere !== undefined && choices.includes(elsewhere) ? elsewhere : undefined;
  const hidden = valueShown(name) === '' ? LINK_HERE : '';
  return `${written} is unknown; ${listed}${didYouMean(meant ?? suggestion(name, choices))}${hidden}`;
}

/** Explains why a value is not shown. */
const LINK_HERE =
  '; its value is not shown, since it may hold a secret: `weir import` reads share links';

const NETWORKS = ['tcp', 'tls', 'ws', 'grpc'];

const NETWORKS_ELSEWHERE: Readonly<Record<string, string>> = {
  raw: 'tcp',
  websocket: 'ws',
  wss: 'ws',
  gun: 'grpc',
  ssl: 'tls',
};

/** Transports of other programs that are not supported. */
const NETWORKS_NOT_HERE = new Set([
  'xhttp',
  'splithttp',
  'httpupgrade',
  'h2',
  'http',
  'kcp',
  'mkcp',
  'quic',
]);

/** Returns the hint for an unknown `network` of a stream: its value, the choices, and the likely intention. */
export function networkHint(name: string): string {
  if (NETWORKS_NOT_HERE.has(name.trim().toLowerCase())) {
    return `network${valueShown(name)} is not supported, so that the other end needs another one too; a stream has ${NETWORKS.join(', ')}`;
  }
  const meant = NETWORKS_ELSEWHERE[name.trim().toLowerCase()] ?? suggestion(name.trim(), NETWORKS);
  return `network${valueShown(name)} is unknown; a stream has ${NETWORKS.join(', ')}${didYouMean(meant)}`;
}

const STRATEGIES_ELSEWHERE: Readonly<Record<string, string>> = {
  fallback: 'failover',
  urltest: 'failover',
  leastping: 'failover',
  leastload: 'failover',
  loadbalance: 'round_robin',
  random: 'round_robin',
};

/** Returns the hint for an unknown `strategy` of a balancer: the one that does most of what it does elsewhere. */
export function strategyHint(name: string, known: readonly string[]): string | undefined {
  const word = name.toLowerCase().replaceAll(/[_-]/g, '');
  if (word === 'select' || word === 'selector') {
    return 'no balancer is switched by hand: a rule names a route group of a subscribe file, or the default route is switched, by `weir ctl pick`';
  }
  const meant =
    STRATEGIES_ELSEWHERE[word] ?? known.find((each) => each.replaceAll('_', '') === word);
  if (meant === 'failover')
    return 'write "failover": the first member in the list that can be reached';
  if (meant === 'round_robin')
    return 'write "round_robin": each member that can be reached in turn';
  const similar = suggestion(name, known);
  return similar === undefined ? undefined : `did you mean ${JSON.stringify(similar)}?`;
}

/** Returns the hint for an entry of `port` that is neither a port nor a range. */
export function portHint(entry: string): string | undefined {
  if (entry.length > LONGEST_VALUE) return undefined;
  if (entry.includes(',')) {
    const parts = entry.split(',').map((part) => JSON.stringify(part.trim()));
    return `write a text for each: ${parts.join(', ')}`;
  }
  const [, from = '', to = ''] = /^(\d{0,5})[:-](\d{0,5})$/.exec(entry.replaceAll(' ', '')) ?? [];
  if (from === '' && to === '') return undefined;
  return `a range has both ends: "${from || '1'}-${to || '65535'}"`;
}

/** Returns the hint for an entry of `cidr` that is not a network. */
export function cidrHint(entry: string): string | undefined {
  const code = /^geoip:(.{1,20})$/i.exec(entry)?.[1];
  if (code !== undefined) return `write geoip = [${JSON.stringify(code)}]`;
  const network = parseInterfaceAddress(entry);
  if (!('problem' in network)) return `write the network: ${formatCidr(withoutHostBits(network))}`;
  if (/[/:]/.test(entry) || !/[a-z]/i.test(entry)) return undefined;
  return 'names are matched by domain_suffix, domain_full and domain_keyword';
}

const TAGS_ELSEWHERE: Readonly<Record<string, string>> = {
  block: 'blackhole',
  blocked: 'blackhole',
  reject: 'blackhole',
  drop: 'blackhole',
  deny: 'blackhole',
  freedom: 'direct',
  bypass: 'direct',
};

/** Returns the hint for an unknown outbound tag: a built-in, or the most similar tag of the file. */
export function outboundHint(tag: string, known: Iterable<string>): string | undefined {
  const builtin = TAGS_ELSEWHERE[tag.toLowerCase()];
  if (builtin === undefined) {
    return memberHint(tag, new Set([...known, 'direct', 'blackhole']));
  }
  const what = builtin === 'direct' ? 'connects directly' : 'refuses flows';
  return `the built-in outbound that ${what} is ${JSON.stringify(builtin)}`;
}

/**
 * Returns the hint for an unknown member of a balancer, which cannot be a built-in: the most similar tag of the file.
 */
export function memberHint(tag: string, known: Iterable<string>): string | undefined {
  const tags = [...known];
  const meant = suggestion(tag, tags);
  const listed = tags.slice(0, MOST_LISTED).map((each) => JSON.stringify(each));
  const rest = tags.length - listed.length;
  const more = rest > 0 ? `, and ${rest} more` : '';
  const choices = tags.length === 0 ? [] : [`there are ${listed.join(', ')}${more}`];
  return (
    [...(meant === undefined ? [] : [`did you mean ${JSON.stringify(meant)}?`]), ...choices].join(
      ' ',
    ) || undefined
  );
}

/** Tags that a hint lists. */
const MOST_LISTED = 8;

const LONGEST_VALUE = 40;

/**
 * Returns the value as shown in hints. A long one is not a mistyped word, and one with an `@` or a
 * scheme may be a share link with credentials: both are left out.
 */
const valueShown = (text: string): string =>
  text.length > LONGEST_VALUE || /@|:\/\//.test(text) ? '' : ` = ${JSON.stringify(text)}`;

const didYouMean = (word: string | undefined): string =>
  word === undefined ? '' : `; did you mean ${JSON.stringify(word)}?`;
