/** The parts of a request target, undecoded. */
export interface TargetParts {
  /** The authority of an absolute target, which replaces the `Host` header (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
  readonly path: string;
  /** The text after the first `?`. */
  readonly query: string;
}

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/(?<authority>[^/?#]*)/i;

export function splitRequestTarget(target: string): TargetParts {
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
  readonly method: string;
  /** A segment `{name}` matches any text but the empty one, `{name?}` the empty text too: `/v1/routes/{group}`. */
  readonly path: string;
}

export type Routed<Route> =
  /** `parameters` has the named segments. */
  | {
      readonly kind: 'found';
      readonly route: Route;
      readonly parameters: Readonly<Record<string, string>>;
    }
  /** The path exists for other methods, `allow`. */
  | { readonly kind: 'wrong_method'; readonly allow: readonly string[] }
  | { readonly kind: 'unknown' };

const PARAMETER = /^\{(?<name>\w+)(?<empty>\?)?\}$/;

interface RoutedPath<Route> {
  /** Segments: a literal text, or a parameter. */
  readonly segments: readonly (string | { readonly name: string; readonly mayBeEmpty: boolean })[];
  readonly methods: Map<string, Route>;
}

/**
 * Finds routes. Segments are compared as they are, without normalisation. Of several paths that match, the first one of
 * the table applies, whatever the method.
 */
export class RequestRouter<Route extends RouteKey> {
  readonly #paths: readonly RoutedPath<Route>[];

  constructor(routes: readonly Route[]) {
    const paths = new Map<string, RoutedPath<Route>>();
    for (const route of routes) {
      const found = paths.get(route.path) ?? {
        segments: segmentsOf(route.path),
        methods: new Map(),
      };
      paths.set(route.path, found);
      found.methods.set(route.method, route);
    }
    this.#paths = [...paths.values()];
  }

  /** @param segments of the path, decoded or not, with an empty one before the first `/` */
  find(method: string, segments: readonly string[]): Routed<Route> {
    for (const path of this.#paths) {
      const parameters = matched(path.segments, segments);
      if (!parameters) continue;
      const route = path.methods.get(method);
      if (!route) return { kind: 'wrong_method', allow: [...path.methods.keys()] };
      return { kind: 'found', route, parameters };
    }
    return { kind: 'unknown' };
  }
}

/** Adds HEAD to routes with GET (RFC 9110 §9.3.2). */
export const withHead = <Route extends RouteKey>(routes: readonly Route[]): readonly Route[] =>
  routes.flatMap((route) =>
    route.method === 'GET' ? [route, { ...route, method: 'HEAD' }] : route,
  );

const segmentsOf = (path: string): RoutedPath<unknown>['segments'] =>
  path.split('/').map((segment) => {
    const { name, empty } = PARAMETER.exec(segment)?.groups ?? {};
    return name === undefined ? segment : { name, mayBeEmpty: empty !== undefined };
  });

function matched(
  wanted: RoutedPath<unknown>['segments'],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (wanted.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, each] of wanted.entries()) {
    const segment = segments[at] ?? '';
    if (typeof each === 'string') {
      if (each !== segment) return undefined;
    } else if (segment === '' && !each.mayBeEmpty) return undefined;
    else parameters[each.name] = segment;
  }
  return parameters;
}
