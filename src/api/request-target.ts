/** A request target in parts, as they were sent. */
export interface RequestTarget {
  /** Of an absolute target; it then counts instead of the `Host` header (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
  readonly path: string;
  /** What stands behind the first `?`, without it. */
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
