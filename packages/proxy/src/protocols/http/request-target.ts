import { ipVersion } from '@weir/base/ip';
import type { Endpoint } from '@weir/io/addresses';
import { MessageError } from '@weir/http/http1';

/** An authority, parsed as a destination and as it was written, which is for `Host`. */
export interface TargetAuthority {
  readonly destination: Endpoint;
  readonly authority: string;
}

/** A request target in one of its forms (RFC 9112 §3.2). */
export type RequestTarget =
  | { readonly form: 'authority'; readonly destination: Endpoint }
  | ({ readonly form: 'absolute'; readonly path: string } & TargetAuthority)
  | { readonly form: 'origin'; readonly path: string };

/**
 * Default ports by scheme. WebSocket clients that use a proxy for plain HTTP send it `ws://` targets (although RFC 6455
 * §4.1 requires CONNECT): the handshake is HTTP in any case.
 */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, ws: 80, wss: 443 };

const MAX_NAME = 255;
// Names as in DNS and hosts files. The other characters that RFC 3986 allows in a reg-name
// (percent-encoding, sub-delimiters) occur in no host name, and recipients interpret them
// differently.
const NAME = /^[A-Za-z0-9._~-]+$/;

/**
 * Parses a request target.
 *
 * The default port of an absolute `https://` target is 443; it is forwarded without TLS, as by V2Ray and Xray: clients
 * that want end-to-end TLS use CONNECT.
 *
 * Many clients send a proxy the URL as their user wrote it. Its user information and fragment are dropped from the new
 * head: recipients treat them differently (RFC 9110 §4.2.4), and the former may be a password. It authenticates neither
 * at the origin nor at this proxy.
 *
 * @throws {MessageError} 400, with a message that quotes nothing of the target.
 */
export function parseRequestTarget(method: string, target: string): RequestTarget {
  if (method === 'CONNECT') {
    const { destination } = parseAuthority(target, undefined);
    return { form: 'authority', destination };
  }
  if (target.startsWith('/')) return { form: 'origin', path: withoutFragment(target) };
  if (target === '*' && method === 'OPTIONS') return { form: 'origin', path: '*' };
  return parseAbsolute(method, target);
}

/**
 * Parses a `Host` value, the authority of an origin-form request; the default port is 80.
 *
 * @throws {MessageError} 400.
 */
export function parseHost(value: string): TargetAuthority {
  return parseAuthority(value, DEFAULT_PORTS['http']);
}

/** Returns a target for display: without user information. */
export const shownTarget = (target: string): string =>
  target.replace(/^([A-Za-z][A-Za-z0-9+.-]*:\/\/)[^/?#@]*@/, '$1');

/** Whether a host is valid in a request line or header: a plain name or an IP address. */
export function isHost(host: string): boolean {
  if (host.includes(':')) return ipVersion(host) === 6 && !host.includes('%');
  return host.length <= MAX_NAME && NAME.test(host);
}

function parseAbsolute(method: string, target: string): RequestTarget {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/s.exec(target);
  if (!match) throw new MessageError(400, 'the request target is neither absolute nor a path');
  const [, scheme = '', authority = '', rest = ''] = match;
  const defaultPort = DEFAULT_PORTS[scheme.toLowerCase()];
  if (defaultPort === undefined) {
    throw new MessageError(400, 'only http, https, ws and wss targets are forwarded');
  }
  let path = withoutFragment(rest);
  // RFC 9112 §3.2.4: OPTIONS without a path concerns the server as a whole.
  if (path === '') path = method === 'OPTIONS' ? '*' : '/';
  else if (path.startsWith('?')) path = `/${path}`;
  return { form: 'absolute', ...parseAuthority(withoutUserInfo(authority), defaultPort), path };
}

/** @param defaultPort `undefined` requires a port in the authority. */
function parseAuthority(authority: string, defaultPort: number | undefined): TargetAuthority {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]*))?$/.exec(authority);
  if (!match) throw new MessageError(400, 'the host of the request is malformed');
  const [, written = '', digits = ''] = match;
  const bracketed = written.startsWith('[');
  const host = bracketed ? written.slice(1, -1) : written;
  if (!isHost(host) || bracketed !== host.includes(':')) {
    throw new MessageError(400, 'the host of the request is malformed');
  }
  if (digits === '') {
    if (defaultPort === undefined) throw new MessageError(400, 'the request has no port');
    return { destination: { host, port: defaultPort }, authority: written };
  }
  const port = digits.length <= 5 ? Number(digits) : 0;
  if (port < 1 || port > 65_535) throw new MessageError(400, 'the port of the request is invalid');
  return { destination: { host, port }, authority: `${written}:${digits}` };
}

/** Removes user information. A backslash ends the authority for some recipients, which would then find another host. */
function withoutUserInfo(authority: string): string {
  const at = authority.indexOf('@');
  if (at < 0) return authority;
  if (authority.includes('@', at + 1) || authority.includes('\\')) {
    throw new MessageError(400, 'the user information of the request target is malformed');
  }
  return authority.slice(at + 1);
}

function withoutFragment(path: string): string {
  const hash = path.indexOf('#');
  return hash < 0 ? path : path.slice(0, hash);
}
