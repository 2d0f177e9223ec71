import { isOwnSite } from '@weir/http/fields';
import { ipVersion, isLoopbackHost } from '@weir/base/ip';

/** The headers by which a request of a web page is recognised. */
export interface GuardedRequest {
  /** The `Host` header, or the authority of an absolute request target, which replaces it (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly fetchSite: string | readonly string[] | undefined;
  /** Whether a browser follows a link to a document, of which the linking page cannot read the response. */
  readonly isFollowed?: boolean;
}

/** What a server regards as its own. */
export interface GuardedPlace {
  readonly isOwnHost: (authority: string) => boolean;
  /** Whether a page of this origin is the server's, given the authority of the request. */
  readonly isOwnOrigin: (origin: string, authority: string | undefined) => boolean;
}

/** Why a request is rejected. */
export type Rejection = 'foreign-host' | 'foreign-origin' | 'cross-site';

/**
 * Rejects requests that a page of another origin makes a browser send.
 * - A `Host` that is not the server's own: a page whose domain resolves to this host (DNS rebinding) sends its domain.
 *   A request without one is not from a browser: HTTP/1.0, or a client of a unix socket.
 * - `Origin` of another page, including `null`. A browser sends it with every state-changing request.
 * - `Sec-Fetch-Site` other than `same-origin` and `none`, except for links that a user follows where the server has
 *   pages.
 *
 * @param origins other pages that are accepted too, such as `https://board.example`
 * @returns the reason, or `undefined` for a request that is served
 */
export function rejectionOf(
  { authority, origin, fetchSite, isFollowed = false }: GuardedRequest,
  place: GuardedPlace,
  origins?: ReadonlySet<string>,
): Rejection | undefined {
  if (authority !== undefined && authority !== '' && !place.isOwnHost(authority)) {
    return 'foreign-host';
  }
  if (origin !== undefined) {
    if (origins?.has(origin.toLowerCase()) === true) return undefined;
    if (!place.isOwnOrigin(origin, authority)) return 'foreign-origin';
  }
  return isOwnSite(fetchSite) || isFollowed ? undefined : 'cross-site';
}

const AUTHORITY = /^(?<host>\[[0-9a-f:.]{2,45}\]|[^:@/\\?#\s]{1,253})(?::(?<port>\d{1,5}))?$/i;
const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/**
 * The place of a server with pages: loopback addresses with the bound port, and names of its certificate.
 *
 * @param port the bound port; `undefined` for a unix socket, which clients reach through any port
 * @param isOwnName whether the certificate is valid for a host that is not loopback
 */
export const pagePlace = (
  scheme: 'http' | 'https',
  port: number | undefined,
  isOwnName: (host: string) => boolean,
): GuardedPlace => ({
  isOwnHost(authority) {
    const { host, port: given } = AUTHORITY.exec(authority)?.groups ?? {};
    if (host === undefined) return false;
    const asked = given === undefined ? DEFAULT_PORTS[scheme] : Number(given);
    if (port !== undefined && port !== asked) return false;
    return isLoopbackHost(host) || isOwnName(unbracketed(host));
  },
  isOwnOrigin(origin, authority) {
    if (authority === undefined) return false;
    const own = authority.toLowerCase();
    const given = origin.toLowerCase();
    // A proxy in front of a unix socket may terminate TLS.
    return given === `${scheme}://${own}` || (port === undefined && given === `https://${own}`);
  },
});

const HOST_AND_PORT = /^(?:[^@]*@)?(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>\d*))?$/;
const HTTP = 'http://';

/**
 * The place of an API without a secret on a loopback address: any IP address and `localhost`, since a page whose domain
 * is rebound sends its domain; origins have the bound port and are loopback, or the host of the request.
 */
export const addressPlace = (port: number): GuardedPlace => ({
  isOwnHost(authority) {
    const host = HOST_AND_PORT.exec(authority)?.groups?.['host'];
    return host !== undefined && isAddressOrLocalhost(host);
  },
  isOwnOrigin(origin, authority) {
    if (!origin.toLowerCase().startsWith(HTTP)) return false;
    const page = HOST_AND_PORT.exec(origin.slice(HTTP.length))?.groups ?? {};
    const host = page['host']?.toLowerCase();
    if (host === undefined || !isAddressOrLocalhost(host)) return false;
    if (port !== (page['port'] ? Number(page['port']) : DEFAULT_PORTS.http)) return false;
    const own = HOST_AND_PORT.exec(authority ?? '')?.groups?.['host'];
    return isLoopback(host) || host === own?.toLowerCase();
  },
});

const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const isAddressOrLocalhost = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || ipVersion(unbracketed(host)) !== 0;

/** Whether a host is loopback, the only kind of address that a listener without a secret can have. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (host.startsWith('127.') && ipVersion(host) === 4);
