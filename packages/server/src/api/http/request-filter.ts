import type { ApiOptions } from '@weir/config';
import { addressPlace, type GuardedPlace, rejectionOf } from '../../local-http/guard.ts';
import { Router, splitRequestTarget, withHead } from '../../local-http/router.ts';
import { bearerToken, secretCheck } from '../../local-http/secret.ts';
import { type ApiRoute, ROUTES } from '../routes.ts';
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
      readonly parameters: Readonly<Record<string, string>>;
      readonly query: string;
    };

/**
 * Filters and routes requests: checks the token first, for any path; without a secret, whether the request may come
 * from a web page; then the route.
 */
export class RequestFilter {
  readonly #router = new Router(withHead(ROUTES));
  readonly #isAuthorized: BearerCheck | undefined;
  /** A listener without a secret, which is open to all programs of this host, but not to web pages. */
  readonly #place: GuardedPlace | undefined;

  /** @param port the bound port; `undefined` for a unix socket. */
  constructor({ secret }: ApiOptions, port: number | undefined) {
    this.#isAuthorized = secret === undefined ? undefined : bearerCheck(secret);
    this.#place = secret === undefined && port !== undefined ? addressPlace(port) : undefined;
  }

  judge(head: ApiRequestHead): FilterDecision {
    if (this.#isAuthorized && !this.#isAuthorized(head.authorization)) {
      return { kind: 'response', response: unauthorized() };
    }
    const target = splitRequestTarget(head.target);
    const rejection = this.#rejectWebPage(head, target.authority ?? head.host);
    if (rejection) return { kind: 'response', response: rejection };
    const routed = this.#router.find(head.method, target.path.split('/'));
    switch (routed.kind) {
      case 'found':
        return { ...routed, kind: 'call', query: target.query };
      case 'wrong_method':
        return { kind: 'response', response: empty(405, { Allow: routed.allow.join(',') }) };
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
    if (!this.#place) return undefined;
    const rejection = rejectionOf({ authority, origin, fetchSite }, this.#place);
    return rejection && (rejection === 'foreign-host' ? misdirected() : foreignOrigin());
  }
}

/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;

/** Whether an `Authorization` header carries the secret. */
export type BearerCheck = (authorization: string | undefined) => boolean;

/** Creates a check for `secret`. */
export function bearerCheck(secret: string): BearerCheck {
  const isSecret = secretCheck(secret);
  return (authorization = '') => {
    const token = FOREIGN.test(authorization) ? undefined : bearerToken(authorization);
    return token !== undefined && isSecret(token);
  };
}
