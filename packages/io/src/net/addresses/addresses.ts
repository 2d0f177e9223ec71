import { isUtf8 } from 'node:buffer';
import { networkInterfaces } from 'node:os';
import { domainToASCII, domainToUnicode } from 'node:url';
import {
  formatIP,
  type IpEndpoint,
  ipVersion,
  parseIP,
  parseIPv6,
  splitZone,
  toEndpoint,
  unmapIPv4,
} from '@weir/base/ip';

export { formatIP, ipVersion, parseIP, parseIPv6, unmapIPv4 };

/** A host and a port; `host` is a domain name or an IP address in text without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type Network = 'tcp' | 'udp';

/** The destination of a client's request. */
export interface Destination extends Endpoint {
  readonly network: Network;
}

/** Returns an endpoint as `host:port`, with brackets around IPv6. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Returns the canonical text of an IP address, as the kernel reports it: IPv6 in the form of RFC 5952, an
 * IPv4-mapped address as the IPv4 one. A name or an address with a zone is returned unchanged.
 */
export function canonicalHost(host: string): string {
  const bytes = parseIP(host);
  return bytes ? unmapIPv4(formatIP(bytes)) : host;
}

/**
 * Whether a datagram from `source` may be passed on as a response of `peer`, in a framing that has
 * no field for the source. The address of a peer given by name is unknown, so only its port is compared.
 */
export const mayRespondFor = (peer: Endpoint, source: Endpoint): boolean =>
  peer === source ||
  (peer.port === source.port &&
    (peer.host === source.host || (ipVersion(peer.host) === 0 && ipVersion(source.host) !== 0)));

/** The order and choice of the addresses of a name; see `[[outbound]].address_family`. */
export type FamilyPolicy = 'auto' | 'ipv4_only' | 'ipv6_only' | 'prefer_ipv4' | 'prefer_ipv6';

/** Resolves names. Never uses the proxy's outbounds. */
export interface Resolver {
  /**
   * Returns the addresses of a host in the order in which they should be tried, at least one. An IP address
   * in text is returned itself, whatever the policy, which is one for names.
   * @param client the IP address of the requesting client, so that one client cannot use all capacity;
   *   left out for names of the configuration.
   * @throws {DialError} `not_found` when there is no address of an allowed family, `unresolved`
   *   when the name servers fail, `timed_out` when there is no response in time, `aborted` when
   *   `signal` aborts.
   */
  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]>;
}

/**
 * Returns an IP address in text, with its zone, if any, and a port as numbers. `undefined` for a name,
 * and for a zone that names no interface with a link-local address.
 */
export function numericEndpoint(host: string, port: number): IpEndpoint | undefined {
  const { address, zone } = splitZone(host);
  if (zone === '') return toEndpoint(address, port);
  const scope = networkInterfaces()[zone]?.find(isLinkLocal)?.scopeid;
  return scope === undefined ? undefined : toEndpoint(address, port, scope);
}

/** Whether an address is usable only together with its interface (RFC 4007 §6). */
export const isLinkLocal = ({ scopeid }: { readonly scopeid?: number | undefined }): boolean =>
  scopeid !== undefined && scopeid !== 0;

/** Letters, digits, hyphens and underscores: names that are resolved unchanged. */
const PLAIN = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** The input of domainToASCII, which would end at `/` and decode `%41` as in a URL. */
const CONVERTIBLE = /^[a-z0-9._\u0080-\u{10ffff}-]+$/u;
/** A last label that C libraries parse as part of an IPv4 address (`127.1`, `0x7f000001`). */
const NUMERIC_END = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

/** The longest name in text without its final dot (RFC 1035 §2.3.4). */
const MAX_NAME_LENGTH = 253;

/**
 * Returns the canonical form of a host: rules match it, and it is resolved, dialled and sent to other proxies.
 *
 * A name becomes lower case, ASCII (UTS 46) and loses its final dot; text that resolvers parse as an address (`127.1`,
 * `0x7f.1`, fullwidth digits) becomes that address; an address gets its canonical form, with a zone only if the zone is
 * significant. `undefined` for any other text.
 */
export function normalizeHost(host: string): string | undefined {
  if (host.length <= MAX_NAME_LENGTH && PLAIN.test(host) && !NUMERIC_END.test(host)) return host;
  if (host.length > 4 * MAX_NAME_LENGTH) return undefined;
  const version = ipVersion(host);
  if (version !== 0) return version === 4 ? host : normalizeAddress(host);
  const lower = host.toLowerCase();
  const bare = withoutFinalDot(lower);
  if (isName(bare)) return bare;
  if (!CONVERTIBLE.test(lower)) return undefined;
  const name = withoutFinalDot(domainToASCII(lower));
  return ipVersion(name) === 4 || isName(name) ? name : undefined;
}

const isName = (name: string): boolean =>
  name.length <= MAX_NAME_LENGTH && PLAIN.test(name) && !NUMERIC_END.test(name);

const withoutFinalDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name);

/**
 * Returns the canonical form of an IPv6 address; an IPv4 address has only one.
 *
 * `::ffff:192.0.2.1%1` reaches 192.0.2.1, so only link-local and multicast addresses keep their zone
 * (RFC 4007 §6).
 */
function normalizeAddress(host: string): string | undefined {
  const zone = host.indexOf('%');
  const bytes = parseIPv6(zone < 0 ? host : host.slice(0, zone));
  if (!bytes) return undefined;
  const text = unmapIPv4(formatIP(bytes));
  const [first = 0, second = 0] = bytes;
  const scoped = (first === 0xfe && second >> 6 === 2) || first === 0xff;
  return zone >= 0 && scoped ? text + host.slice(zone) : text;
}

/**
 * Returns the canonical form of a domain name, as `normalizeHost` returns it. `undefined` for other text, including
 * text that resolvers read as an address (`127.1`).
 */
export function normalizeDomain(host: string): string | undefined {
  const name = normalizeHost(host);
  return name === undefined || ipVersion(name) !== 0 ? undefined : name;
}

/**
 * Returns a host of the configuration, perhaps with a port, as TLS and HTTP spell it: one that is not ASCII in its
 * canonical form, an address without its zone, which no other host may see (RFC 6874 §1). Other text is returned
 * unchanged, and so is a host that has no such form.
 */
export function wireHost(text: string): string {
  if (ipVersion(text) === 6) return splitZone(text).address;
  const bracket = text.startsWith('[') ? text.indexOf(']') : -1;
  if (bracket > 0) return `[${wireHost(text.slice(1, bracket))}${text.slice(bracket)}`;
  if (!/\P{ASCII}/u.test(text)) return text;
  const colon = text.lastIndexOf(':');
  const [host, port] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon)];
  const canonical = normalizeHost(host);
  return canonical === undefined ? text : canonical + port;
}

/** Whether a name is `localhost` or below it: this machine, without a DNS query (RFC 6761 §6.3). */
export const isLocalhost = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost');

/** Returns the Unicode form of a name in ASCII (UTS 46); empty when it cannot be decoded. */
export const unicodeName = (name: string): string => domainToUnicode(name);

// Characters that would be unsafe in a log line or in the request line of an HTTP proxy.
const NOT_IN_NAMES = /[\p{Cc}\p{Z}]/u;

/**
 * Decodes the bytes of a domain name; an IP address in text becomes that address. `undefined` when
 * the name is empty, not UTF-8, or contains control or space characters.
 */
export function decodeName(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || !isUtf8(bytes)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (NOT_IN_NAMES.test(text)) return undefined;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ip = ipVersion(bare) === 0 ? undefined : parseIP(bare);
  return ip ? unmapIPv4(formatIP(ip)) : text;
}

/** Parts of addresses that the log shows; the values of WEIR_LOG_ADDRESSES. */
export type ShownAddresses = 'full' | 'net' | 'none';

/** Placeholder for a hidden address. */
const ADDRESS = '<address>';
/** Placeholder for a hidden text of another program, which may contain addresses. */
const TEXT = '<text>';

/** Bytes of an address that remain visible, by its length: an IPv4 network /24, an IPv6 network /48. */
const KEPT: Readonly<Record<number, number>> = { 4: 3, 16: 6 };

/** Labels of a name that remain visible. */
const KEPT_LABELS = 2;

/** The choice of this process, made at its start: log lines and errors of all its parts depend on it. */
let shown: ShownAddresses = 'full';

/** Chooses how addresses are shown from now on. */
export function showAddresses(how: ShownAddresses): void {
  shown = how;
}

/**
 * Returns the host of a client, of a destination or of an outbound's server, for a log line or an error. Errors end up
 * in log lines, so both are masked here: finished text is never searched for addresses.
 *
 * `net` keeps the network of an address and the last two labels of a name, as in `*.example.com`.
 */
export const shownHost = (host: string): string => (shown === 'full' ? host : maskedHost(host));

/** Returns the host of a client as `shownHost` masks it; `undefined` if there is none. */
export const shownSource = (host: string | undefined): string | undefined =>
  host === undefined ? undefined : shownHost(host);

/** Returns an endpoint with its host as `shownHost` masks it; the port is always shown. */
export const shownEndpoint = (endpoint: Endpoint): string =>
  formatEndpoint(shown === 'full' ? endpoint : { ...endpoint, host: maskedHost(endpoint.host) });

/**
 * Returns a text that a peer or the system has written, for a log line or an error: it may name addresses in any form,
 * so it is shown as a whole or not at all.
 */
export const shownForeign = (text: string, instead = TEXT): string =>
  shown === 'full' || text === '' ? text : instead;

function maskedHost(host: string): string {
  return shown === 'none' ? ADDRESS : networkOf(host);
}

function networkOf(host: string): string {
  const bytes = parseIP(unmapIPv4(host.split('%', 1)[0] ?? host));
  if (bytes) return formatIP(bytes.fill(0, KEPT[bytes.length] ?? 0));
  // Any other text with a colon is not a name.
  if (host.includes(':')) return ADDRESS;
  const labels = host.split('.');
  const kept = labels.slice(-KEPT_LABELS).join('.');
  return labels.length > KEPT_LABELS ? `*.${kept}` : kept;
}
