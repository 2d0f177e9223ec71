import type { ApiOptions } from '../../config/api.ts';
import { empty, foreignOrigin, misdirected, unauthorized, type ApiResponse } from './response.ts';
import { bearerCheck, type BearerCheck, isOwnOrigin, namesThisHost } from './access.ts';
import { parseTarget, Router } from '../router.ts';
import { ROUTES, type Route } from '../routes.ts';

/** The parts of a request that are judged before any handler runs. */
export interface RequestHead {
  readonly method: string;
  /** As sent. */
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export type Verdict =
  | { readonly kind: 'response'; readonly response: ApiResponse }
  | {
      readonly kind: 'call';
      readonly route: Route;
      readonly parameter: string;
      readonly query: string;
    };

/**
 * Decides how a request is handled: the token first, for any path; then, where there is no
 * token, whether it may come from a web page; then the route.
 */
export class Front {
  readonly #router = new Router(ROUTES);
  readonly #isAuthorized: BearerCheck | undefined;
  /** The port of a listener that is open to every program of this host, but not to web pages. */
  readonly #guardedPort: number | undefined;

  /** @param port that is bound; `undefined` for a unix socket. */
  constructor({ secret }: ApiOptions, port: number | undefined) {
    this.#isAuthorized = secret === undefined ? undefined : bearerCheck(secret);
    this.#guardedPort = secret === undefined ? port : undefined;
  }

  judge(head: RequestHead): Verdict {
    if (this.#isAuthorized && !this.#isAuthorized(head.authorization)) {
      return { kind: 'response', response: unauthorized() };
    }
    const target = parseTarget(head.target);
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

  #rejectWebPage({ origin }: RequestHead, authority: string | undefined): ApiResponse | undefined {
    if (this.#guardedPort === undefined) return undefined;
    if (!namesThisHost(authority)) return misdirected();
    if (!isOwnOrigin({ authority, origin }, this.#guardedPort)) return foreignOrigin();
    return undefined;
  }
}
