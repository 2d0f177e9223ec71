import type { ApiOptions } from '../config/api.ts';
import { empty, foreignOrigin, misdirected, unauthorized, type Answer } from './answer.ts';
import { bearerCheck, type BearerCheck, isOwnOrigin, namesThisHost } from './access.ts';
import { parseTarget, Router } from './router.ts';
import { ROUTES, type Route } from './routes.ts';

/** What decides about a request before any handler runs. */
export interface RequestHead {
  readonly method: string;
  /** As sent. */
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export type Verdict =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | {
      readonly kind: 'call';
      readonly route: Route;
      readonly parameter: string;
      readonly query: string;
    };

/**
 * Decides what becomes of a request: the token first, whatever is asked for; then, where there is no
 * token, whether a web page may be behind it; then the route.
 */
export class Front {
  readonly #router = new Router(ROUTES);
  readonly #isAuthorized: BearerCheck | undefined;
  /** The port, of a listener that anyone on this host may talk to and web pages must not. */
  readonly #guardedPort: number | undefined;

  /** @param port that is bound; `undefined` for a unix socket. */
  constructor({ secret }: ApiOptions, port: number | undefined) {
    this.#isAuthorized = secret === undefined ? undefined : bearerCheck(secret);
    this.#guardedPort = secret === undefined ? port : undefined;
  }

  judge(head: RequestHead): Verdict {
    if (this.#isAuthorized && !this.#isAuthorized(head.authorization)) {
      return { kind: 'answer', answer: unauthorized() };
    }
    const target = parseTarget(head.target);
    const refusal = this.#refuseWebPage(head, target.authority ?? head.host);
    if (refusal) return { kind: 'answer', answer: refusal };
    const routed = this.#router.find(head.method, target.path);
    switch (routed.kind) {
      case 'found':
        return { ...routed, kind: 'call', query: target.query };
      case 'wrong_method':
        return { kind: 'answer', answer: empty(405, { Allow: routed.allow }) };
      case 'unknown':
        return { kind: 'answer', answer: empty(404) };
      default:
        return routed satisfies never;
    }
  }

  #refuseWebPage({ origin }: RequestHead, authority: string | undefined): Answer | undefined {
    if (this.#guardedPort === undefined) return undefined;
    if (!namesThisHost(authority)) return misdirected();
    if (!isOwnOrigin({ authority, origin }, this.#guardedPort)) return foreignOrigin();
    return undefined;
  }
}
