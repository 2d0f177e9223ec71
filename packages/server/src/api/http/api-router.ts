/** The parts of a request target, undecoded. */
export interface ApiTarget {
  /** The authority of an absolute target, which replaces the `Host` header (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
  readonly path: string;
  /** The text after the first `?`. */
  readonly query: string;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i;

export function splitRequestTarget(target: string): ApiTarget {
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

/** A method of a path. */
export interface RouteKey {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The last segment may be a parameter: `/v1/routes/{group}`. */
  readonly path: string;
}

export type Routed<Route> =
  /** `parameter` is the last segment, undecoded; `''` if the route has none. */
  | { readonly kind: 'found'; readonly route: Route; readonly parameter: string }
  | { readonly kind: 'wrong_method'; readonly allow: string }
  | { readonly kind: 'unknown' };

type Methods<Route> = Map<string, Route>;

const PARAMETER = /\{\w+\}$/;

/**
 * Finds routes. Paths are compared undecoded and without normalisation. A literal path takes
 * precedence over one with a parameter, whatever the method.
 */
export class ApiRouter<Route extends RouteKey> {
  readonly #literal = new Map<string, Methods<Route>>();
  /** Routes with a parameter, keyed by the path before it. */
  readonly #open = new Map<string, Methods<Route>>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const { method, path } = route;
      const table = PARAMETER.test(path) ? this.#open : this.#literal;
      const key = path.replace(PARAMETER, '');
      const methods: Methods<Route> = table.get(key) ?? new Map();
      methods.set(method, route);
      // A path with GET supports HEAD (RFC 9110 §9.3.2).
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
