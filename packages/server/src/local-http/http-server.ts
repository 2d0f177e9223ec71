import { createServer, type Server, STATUS_CODES } from 'node:http';
import { field, headBytes } from '@weir/http/http1';

/** Limits of a client. */
export interface HttpLimits {
  /** Maximum bytes of the head of a request. */
  readonly headBytes: number;
  readonly times: HttpTimes;
}

/** Time limits of a client, in milliseconds. */
export interface HttpTimes {
  /**
   * Limit for the head of a request, from the start of the connection or of the request; also for the TLS handshake.
   */
  readonly head: number;
  /** Limit for a whole request. */
  readonly request: number;
  /** Limit between requests. */
  readonly idle: number;
}

/** A certificate chain and its key, in PEM. */
interface TlsFiles {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/** Creates a server of Node's with limits for its clients. */
export async function createHttpServer(
  { headBytes: maxHeaderSize, times }: HttpLimits,
  tls?: TlsFiles,
): Promise<Server> {
  const options = {
    maxHeaderSize,
    headersTimeout: times.head,
    requestTimeout: times.request,
    keepAliveTimeout: times.idle,
    connectionsCheckingInterval: times.head / 2,
    // Clients on a unix socket have no host name, and HTTP/1.0 has no such header; the guard decides.
    requireHostHeader: false,
  };
  if (!tls) return createServer(options);
  // The API does without: it has no TLS.
  const https = await import('node:https');
  const { certificate: cert, key } = tls;
  return https.createServer({ ...options, handshakeTimeout: times.head, cert, key });
}

/** A response without Node's server, after which the connection is closed. */
export function rawResponse(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: string | Uint8Array = '',
): Buffer {
  const all = {
    ...headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const fields = Object.entries(all).map(([name, value]) => field(name, value));
  const head = headBytes(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, fields);
  return Buffer.concat([head, Buffer.from(body)]);
}
