import { hash, timingSafeEqual } from 'node:crypto';
import type { ApiOptions } from '@weir/config';
import { isOwnSite } from '@weir/http/fields';
import { ipVersion } from '@weir/base/ip';
import { type ApiRoute, ROUTES } from '../routes.ts';
import { ApiRouter, splitRequestTarget } from './api-router.ts';
import { type ApiResponse, empty, foreignOrigin, misdirected, unauthorized } from './response.ts';

/** The parts of a request that are checked before any handler runs. */
export interface ApiRequestHead {
  readonly method: string;
  /** The request target, undecoded. */
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly fetchSite: string | readonly string[] | undefined;
  readonly authorization: string | undefined;
}

export type FilterDecision =
  | { readonly kind: 'response'; readonly response: ApiResponse }
  | {
      readonly kind: 'call';
      readonly route: ApiRoute;
      readonly parameter: string;
      readonly query: string;
    };

/**
 * Filters and routes requests: checks the token first, for any path; without a secret, whether the request may come
 * from a web page; then the route.
 */
export class RequestFilter {
  readonly #router = new ApiRouter(ROUTES);
  readonly #isAuthorized: BearerCheck | undefined;
  /**
   * Port of a listener without a secret, which is open to all programs of this host, but not to web pages; `undefined`
   * for any other.
   */
  readonly #guardedPort: number | undefined;

  /** @param port the bound port; `undefined` for a unix socket. */
  constructor({ secret }: ApiOptions, port: number | undefined) {
    this.#isAuthorized = secret === undefined ? undefined : bearerCheck(secret);
    this.#guardedPort = secret === undefined ? port : undefined;
  }

  judge(head: ApiRequestHead): FilterDecision {
    if (this.#isAuthorized && !this.#isAuthorized(head.authorization)) {
      return { kind: 'response', response: unauthorized() };
    }
    const target = splitRequestTarget(head.target);
    const rejection = this.#rejectWebPage(head, target.authority ?? head.host);
    if (rejection) return { kind: 'response', response: rejection };
    const routed = this.#router.find(head.method, target.path);
    switch (routed.kind) {
      case 'found':
        return { ...routed, kind: 'call', query: target.query };
      case 'wrong_method':
        return { kind: 'response', response: empty(405, { Allow: routed.allow }) };
      case 'unknown':
        return { kind: 'response', response: empty(404) };
      default:
        return routed satisfies never;
    }
  }

  #rejectWebPage(
    { origin, fetchSite }: ApiRequestHead,
    authority: string | undefined,
  ): ApiResponse | undefined {
    if (this.#guardedPort === undefined) return undefined;
    if (!namesThisHost(authority)) return misdirected();
    if (!isOwnOrigin({ authority, origin, fetchSite }, this.#guardedPort)) return foreignOrigin();
    return undefined;
  }
}

/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;
const SCHEME = 'bearer';

/** Whether an `Authorization` header carries the secret. */
export type BearerCheck = (authorization: string | undefined) => boolean;

/**
 * Creates a check for `secret` (RFC 6750 §2.1, with the scheme in any letter case). Compares
 * digests in constant time, so that the time reveals nothing about the secret or a guess.
 */
export function bearerCheck(secret: string): BearerCheck {
  const wanted = digest(secret);
  return (authorization) => {
    const token = tokenOf(authorization);
    return token !== undefined && timingSafeEqual(digest(token), wanted);
  };
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

function tokenOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || FOREIGN.test(authorization)) return undefined;
  const space = authorization.indexOf(' ');
  if (space < 0 || authorization.slice(0, space).toLowerCase() !== SCHEME) return undefined;
  return authorization.slice(space).trim();
}

/** The headers that identify a request from a web page. */
export interface RequestOrigin {
  /** The authority of an absolute request target, otherwise the `Host` header. */
  readonly authority: string | undefined;
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. */
  readonly fetchSite: string | readonly string[] | undefined;
}

const AUTHORITY = /^(?:[^@]*@)?(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>\d*))?$/;
const DEFAULT_PORT = 80;

/**
 * Whether the authority is an IP address or `localhost`. A web page whose domain resolves to this
 * host (DNS rebinding) would send its domain. A request without an authority is not from a browser.
 */
export function namesThisHost(authority: string | undefined): boolean {
  if (authority === undefined || authority === '') return true;
  const host = AUTHORITY.exec(authority)?.groups?.['host'];
  return host !== undefined && isAddressOrLocalhost(host);
}

/**
 * Whether a request comes from a page of this listener, or from no page. A browser sends the page's origin with every
 * state-changing request, and the page's relation to this site with every request. A link that a user follows from
 * another site is rejected too: the API has no pages, and its streams have no end.
 */
export function isOwnOrigin(
  { authority, origin, fetchSite }: RequestOrigin,
  port: number,
): boolean {
  if (!isOwnSite(fetchSite)) return false;
  if (origin === undefined) return true;
  const page = parseHttpOrigin(origin);
  if (!page || page.port !== port) return false;
  return isLoopback(page.host) || page.host === hostOf(authority);
}

function parseHttpOrigin(origin: string): { host: string; port: number } | undefined {
  const scheme = 'http://';
  if (!origin.toLowerCase().startsWith(scheme)) return undefined;
  const { host, port } = AUTHORITY.exec(origin.slice(scheme.length))?.groups ?? {};
  if (host === undefined || !isAddressOrLocalhost(host)) return undefined;
  return { host: host.toLowerCase(), port: port ? Number(port) : DEFAULT_PORT };
}

const hostOf = (authority: string | undefined): string | undefined =>
  AUTHORITY.exec(authority ?? '')?.groups?.['host']?.toLowerCase();

const isAddressOrLocalhost = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || ipVersion(host.replace(/^\[(.*)\]$/, '$1')) !== 0;

/** Whether a host is loopback, the only kind of address that a listener without a secret can have. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (host.startsWith('127.') && ipVersion(host) === 4);
