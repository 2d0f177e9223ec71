import { ipVersion } from '../../ip/ip-version.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import { MessageError } from '../../http/http1/message-error.ts';

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

const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

const MAX_NAME = 255;
// Names as in DNS and hosts files. The other characters that RFC 3986 allows in a reg-name
// (percent-encoding, sub-delimiters) occur in no host name, and recipients interpret them
// differently.
const NAME = /^[A-Za-z0-9._~-]+$/;

/**
 * Parses a request target.
 *
 * The default port of an absolute `https://` target is 443; it is forwarded without TLS, as by
 * V2Ray and Xray: clients that want end-to-end TLS use CONNECT.
 *
 * @throws {MessageError} 400.
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
    throw new MessageError(400, 'only http and https targets are forwarded');
  }
  let path = withoutFragment(rest);
  // RFC 9112 §3.2.4: OPTIONS without a path concerns the server as a whole.
  if (path === '') path = method === 'OPTIONS' ? '*' : '/';
  else if (path.startsWith('?')) path = `/${path}`;
  return { form: 'absolute', ...parseAuthority(authority, defaultPort), path };
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

function withoutFragment(path: string): string {
  if (path.includes('#')) throw new MessageError(400, 'the request target has a fragment');
  return path;
}
