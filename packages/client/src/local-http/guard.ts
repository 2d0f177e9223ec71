import type { IncomingHttpHeaders } from 'node:http';
import { isOwnSite } from '@weir/http/fields';
import { LocalHttpError } from './local-http-error.ts';
import { isLoopbackHost } from '@weir/base/ip';

/** The place that a bound server accepts requests for. */
export interface GuardedPlace {
  readonly scheme: 'http' | 'https';
  /** The bound port; `undefined` for a unix socket, which clients reach through any port. */
  readonly port: number | undefined;
  /** Whether the certificate is valid for a host that is not loopback; `false` without TLS. */
  readonly isOwnName: (host: string) => boolean;
}

export interface GuardPolicy {
  /**
   * A header that all methods but GET, HEAD and OPTIONS require: a page of another origin cannot send it without a
   * preflight request, and those are rejected.
   */
  readonly changeHeader?: string | undefined;
  /** Origins of other pages that are accepted too, such as `https://board.example`. */
  readonly origins?: ReadonlySet<string> | undefined;
}

const AUTHORITY = /^(?<host>\[[0-9a-f:.]{2,45}\]|[^:@/\\?#\s]{1,253})(?::(?<port>\d{1,5}))?$/i;
const DEFAULT_PORTS = { http: 80, https: 443 } as const;
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects requests that a page of another origin makes a browser send.
 * - `Host` that is not a loopback address with the port, or a name of the certificate: a page whose domain resolves to
 *   this host (DNS rebinding) sends its domain.
 * - `Origin` of another page, including `null`.
 * - `Sec-Fetch-Site` other than `same-origin` and `none`, except for links that a user follows: the linking page cannot
 *   read their response.
 *
 * @throws {LocalHttpError} with status 403
 */
export function guardRequest(
  method: string,
  headers: IncomingHttpHeaders,
  place: GuardedPlace,
  policy: GuardPolicy = {},
): void {
  if (!isOwnHost(headers.host, place)) {
    throw refusal('foreign-host', 'the Host header does not name this server');
  }
  const { origin } = headers;
  const isInvited = origin !== undefined && policy.origins?.has(origin.toLowerCase()) === true;
  if (origin !== undefined && !isInvited && !isOwnOrigin(origin, headers.host, place)) {
    throw refusal('foreign-origin', 'pages of other origins have no access');
  }
  if (!isInvited && !isOwnFetch(method, headers)) {
    throw refusal('cross-site', 'requests from other sites are refused');
  }
  const { changeHeader } = policy;
  if (changeHeader !== undefined && !READING.has(method) && headers[changeHeader] === undefined) {
    throw refusal('no-change-header', `changes need the header ${changeHeader}`);
  }
}

const refusal = (code: string, message: string): LocalHttpError =>
  new LocalHttpError(403, code, message);

/**
 * Whether a `Host` names this server. A request without one is not from a browser: HTTP/1.0, or a client of a unix
 * socket.
 */
function isOwnHost(authority: string | undefined, place: GuardedPlace): boolean {
  if (authority === undefined || authority === '') return true;
  const { host, port } = AUTHORITY.exec(authority)?.groups ?? {};
  if (host === undefined) return false;
  const isOwnPort =
    place.port === undefined ||
    place.port === (port === undefined ? DEFAULT_PORTS[place.scheme] : Number(port));
  return isOwnPort && (isLoopbackHost(host) || place.isOwnName(host.replace(/^\[(.*)\]$/, '$1')));
}

function isOwnOrigin(
  origin: string,
  authority: string | undefined,
  { scheme, port }: GuardedPlace,
): boolean {
  if (authority === undefined) return false;
  const own = authority.toLowerCase();
  const given = origin.toLowerCase();
  // A proxy in front of a unix socket may terminate TLS.
  return given === `${scheme}://${own}` || (port === undefined && given === `https://${own}`);
}

function isOwnFetch(method: string, headers: IncomingHttpHeaders): boolean {
  if (isOwnSite(headers['sec-fetch-site'])) return true;
  return (
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document'
  );
}
