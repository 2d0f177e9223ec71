import {
  bearerToken,
  type LocalListen,
  type LocalExchange,
  LocalHttpError,
  LocalServer,
  secretCheck,
} from '@weir/server/local-http';
import { collect } from './collect.ts';
import { chooseExposition, CONTENT_TYPES, expositionText } from './exposition.ts';
import type { SnapshotTaker } from './snapshot.ts';

/**
 * The default of `--listen`. The port is "Weir" on a telephone keypad, 9347, moved out of the range of Prometheus
 * exporters, which is fully allocated.
 */
export const STANDARD_LISTEN = '127.0.0.1:19347';

const INDEX = `Metrics of a running Weir, for Prometheus: GET /metrics

docs/metrics.md describes them, and has a dashboard and alert rules.
`;

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };

/** Headers of every response. */
const HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };

/** Scrapers are few, and each keeps a connection. */
const MAX_CONNECTIONS = 32;

export interface MetricsServerOptions {
  readonly listen: LocalListen;
  readonly taker: SnapshotTaker;
  /** Bearer token that scrapes must send; `undefined` for none. */
  readonly token: string | undefined;
  readonly onDefect: (error: unknown) => void;
}

/** Serves `GET /metrics`. @throws {BindError} */
export function startMetricsServer(options: MetricsServerOptions): Promise<LocalServer> {
  const { listen, taker, token, onDefect } = options;
  const isToken = token === undefined ? undefined : secretCheck(token);
  return LocalServer.start({
    listen,
    headers: HEADERS,
    maxConnections: MAX_CONNECTIONS,
    onDefect,
    async serve(exchange) {
      authorize(exchange, isToken);
      if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
        const headers = { Allow: 'GET, HEAD' };
        throw new LocalHttpError(405, 'method', 'only GET and HEAD', { headers });
      }
      if (exchange.path === '/') exchange.send(200, INDEX, TEXT);
      else if (exchange.path === '/metrics') await sendMetrics(exchange, taker);
      else throw new LocalHttpError(404, 'path', 'GET /metrics has the metrics');
    },
  });
}

async function sendMetrics(exchange: LocalExchange, taker: SnapshotTaker): Promise<void> {
  const format = chooseExposition(exchange.headers.accept);
  const text = expositionText(collect(await taker.take()), format);
  exchange.send(200, text, { ...TEXT, 'Content-Type': CONTENT_TYPES[format], Vary: 'Accept' });
}

/** Checks the bearer token. @throws {LocalHttpError} 401 */
function authorize(
  exchange: LocalExchange,
  isToken: ((given: string) => boolean) | undefined,
): void {
  if (!isToken) return;
  const token = bearerToken(exchange.headers.authorization);
  if (token !== undefined && isToken(token)) {
    exchange.trust();
    return;
  }
  throw new LocalHttpError(401, 'unauthorized', 'a valid bearer token is required', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}
