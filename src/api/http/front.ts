import type { ApiOptions } from '../../config/api.ts';
import { empty, foreignOrigin, misdirected, unauthorized, type ApiResponse } from './response.ts';
import { bearerCheck, type BearerCheck, isOwnOrigin, namesThisHost } from './access.ts';
import { splitRequestTarget, ApiRouter } from './api-router.ts';
import { ROUTES, type ApiRoute } from '../routes.ts';

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

export type FrontDecision =
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
export class Front {
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

  judge(head: ApiRequestHead): FrontDecision {
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
