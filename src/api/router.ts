/** A request target in parts, as they were sent. */
export interface RequestTarget {
  /** Of an absolute target; it then counts instead of the `Host` header (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
  readonly path: string;
  /** What follows the first `?`. */
  readonly query: string;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i;

export function parseTarget(target: string): RequestTarget {
  const match = ABSOLUTE.exec(target);
  const authority = match?.groups?.['authority'];
  const [local = ''] = target.slice(match?.[0].length ?? 0).split('#', 1);
  const [path = ''] = local.split('?', 1);
  return {
    authority,
    path: path === '' && match ? '/' : path,
    query: local.slice(path.length + 1),
  };
}

/** One method of one path. */
export interface RouteKey {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The last segment may be a parameter: `/v1/routes/{group}`. */
  readonly path: string;
}

export type Routed<Route> =
  /** `parameter` is the last segment as it was sent; `''` where the route has none. */
  | { readonly kind: 'found'; readonly route: Route; readonly parameter: string }
  | { readonly kind: 'wrong_method'; readonly allow: string }
  | { readonly kind: 'unknown' };

type Methods<Route> = Map<string, Route>;

const PARAMETER = /\{\w+\}$/;

/**
 * Finds routes. Paths are compared as they are sent: nothing is decoded, folded or shortened. A path
 * that is written out wins over one with a parameter, whatever the method.
 */
export class Router<Route extends RouteKey> {
  readonly #literal = new Map<string, Methods<Route>>();
  /** By the path before the parameter. */
  readonly #open = new Map<string, Methods<Route>>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const { method, path } = route;
      const table = PARAMETER.test(path) ? this.#open : this.#literal;
      const key = path.replace(PARAMETER, '');
      const methods: Methods<Route> = table.get(key) ?? new Map();
      methods.set(method, route);
      // A path with GET supports HEAD, without the body (RFC 9110 §9.3.2).
      if (method === 'GET') methods.set('HEAD', route);
      table.set(key, methods);
    }
  }

  find(method: string, path: string): Routed<Route> {
    const end = path.lastIndexOf('/') + 1;
    const literal = this.#literal.get(path);
    const open = end < path.length ? this.#open.get(path.slice(0, end)) : undefined;
    const methods = literal ?? open;
    if (!methods) return { kind: 'unknown' };
    const route = methods.get(method);
    if (!route) return { kind: 'wrong_method', allow: [...methods.keys()].join(',') };
    return { kind: 'found', route, parameter: literal ? '' : path.slice(end) };
  }
}
