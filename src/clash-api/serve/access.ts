import type { IncomingHttpHeaders } from 'node:http';
import { secretCheck } from '../../local-http/secret-check.ts';

/** Methods and headers of mihomo for pages of other origins. */
const CORS = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization',
  'Access-Control-Max-Age': '300',
};

/** Access to the controller: clients need its secret, and pages must be its own or of an allowed origin. */
export class ClashAccess {
  readonly #isSecret: ((given: string) => boolean) | undefined;
  /** Allowed origins, in lower case. */
  readonly origins: ReadonlySet<string>;

  /** @param secret `undefined` where only the user of the process can connect */
  constructor(secret: string | undefined, origins: ReadonlySet<string>) {
    this.#isSecret = secret === undefined ? undefined : secretCheck(secret);
    this.origins = origins;
  }

  /**
   * Whether a request has the secret: as a bearer token, or in `?token=` of a WebSocket, for which a page cannot set
   * headers.
   */
  isAllowed(headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
    const isSecret = this.#isSecret;
    if (!isSecret) return true;
    const token = query.get('token');
    if (headers.upgrade?.toLowerCase() === 'websocket' && token) return isSecret(token);
    const { authorization = '' } = headers;
    const space = authorization.indexOf(' ');
    return authorization.slice(0, space) === 'Bearer' && isSecret(authorization.slice(space + 1));
  }

  /** Headers that let a page of an allowed origin read the response; none for other requests. */
  corsHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
    const { origin } = headers;
    if (origin === undefined || !this.origins.has(origin.toLowerCase())) return {};
    return { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' };
  }

  /** Headers of the response to a preflight request (Fetch standard §4.9). */
  preflightHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
    const allowed = this.corsHeaders(headers);
    if (Object.keys(allowed).length === 0) return {};
    const isPrivate = headers['access-control-request-private-network'] === 'true';
    return {
      ...allowed,
      ...CORS,
      ...(isPrivate && { 'Access-Control-Allow-Private-Network': 'true' }),
    };
  }
}
