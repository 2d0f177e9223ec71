import { STREAMS, type ClashStream } from '../streams/feeds.ts';
import type { ClashEndpoint } from '../answers/endpoint.ts';
import { CONFIG_ENDPOINTS, GENERAL_ENDPOINTS } from '../answers/general.ts';
import { CONNECTION_ENDPOINTS } from '../answers/connections.ts';
import { PROVIDER_ENDPOINTS } from '../answers/providers.ts';
import { PROXY_ENDPOINTS } from '../answers/proxies.ts';

const ENDPOINTS: readonly ClashEndpoint[] = [
  ...GENERAL_ENDPOINTS,
  ...CONFIG_ENDPOINTS,
  ...PROXY_ENDPOINTS,
  ...PROVIDER_ENDPOINTS,
  ...CONNECTION_ENDPOINTS,
];

/** Maximum number of segments of a path; no endpoint has more than six. */
const MOST_PARTS = 8;

export type ClashRouted =
  | {
      readonly kind: 'endpoint';
      readonly endpoint: ClashEndpoint;
      readonly parameters: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'stream'; readonly stream: ClashStream }
  | { readonly kind: 'no-path' }
  /** The path exists for other methods. */
  | { readonly kind: 'no-method'; readonly allow: readonly string[] };

/** The segments of an undecoded path; `undefined` if it is too long or cannot be decoded. */
export function partsOf(path: string): readonly string[] | undefined {
  const parts = path.split('/', MOST_PARTS + 2).slice(1);
  if (parts.at(-1) === '') parts.pop();
  if (parts.length > MOST_PARTS) return undefined;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Finds the endpoint of a request. @param upgrades whether the client requests a WebSocket */
export function routeRequest(
  method: string,
  parts: readonly string[],
  upgrades: boolean,
): ClashRouted {
  const stream = STREAMS.find(({ path }) => parametersOf(path, parts));
  if (stream && method === 'GET' && (upgrades || !stream.isWebSocketOnly)) {
    return { kind: 'stream', stream };
  }
  const found = ENDPOINTS.flatMap((endpoint) => {
    const parameters = parametersOf(endpoint.path, parts);
    return parameters ? [{ endpoint, parameters }] : [];
  });
  const match = found.find(({ endpoint }) => endpoint.method === method);
  if (match) return { kind: 'endpoint', ...match };
  const allow = new Set(found.map(({ endpoint }) => endpoint.method));
  if (stream) allow.add('GET');
  return allow.size > 0 ? { kind: 'no-method', allow: [...allow] } : { kind: 'no-path' };
}

/**
 * Matches the segments of a path with a pattern such as `/proxies/:name`, and returns the named ones; `undefined` if
 * the pattern does not match.
 */
function parametersOf(
  pattern: string,
  parts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/').slice(1);
  if (wanted.at(-1) === '') wanted.pop();
  if (wanted.length !== parts.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const each = wanted[at] ?? '';
    if (each.startsWith(':')) parameters[each.slice(1)] = part;
    else if (each !== part) return undefined;
  }
  return parameters;
}
