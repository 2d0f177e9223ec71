import {
  request as httpRequest,
  type IncomingMessage,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { pipeline, type Duplex, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { codeOf, messageOf, VERSION } from '@weir/base';
import { GrowingBytes } from '@weir/base/bytes';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { DeadlineError, toDialError, DialError } from '@weir/io';
import { systemClock, Deadline, abortReason, unlessAborted } from '@weir/io/time';
import type { CaSpec } from '@weir/proxy/spec';
import { NodeClient } from '@weir/proxy/tls';
import { tlsReason } from '@weir/proxy/tls';
import { FetchError, type Fetch, type FetchedDocument, FlowError } from './contract.ts';

/**
 * The accepted content codings (RFC 9110 §8.4.1). Not Brotli: its decoder in Node had a vulnerability that any server's
 * body could trigger (CVE-2026-111497), and documents of a few hundred kilobytes gain little by it.
 */
const ACCEPTED_ENCODINGS = 'gzip, deflate';

/** Maximum bytes by which an encoded body may exceed the limit; this ends a stream that decodes to nothing. */
const ENCODING_OVERHEAD = 64 * 1024;

/**
 * Reads and decodes the body of a response. Decoding stops at the limit, so that a small body that decodes to a large
 * one takes no more memory.
 *
 * @param host for messages
 * @throws {FetchError} `too_large`, or `protocol` for an unknown coding or a body that is invalid in it; and the errors
 * of the response
 */
async function readBody(
  response: IncomingMessage,
  host: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const tooLarge = (): FetchError =>
    new FetchError('too_large', host, `the document has more than ${maxBytes} bytes`);
  const decoder = decoderOf(response.headers['content-encoding'], host);
  const limit = maxBytes + (decoder ? ENCODING_OVERHEAD : 0);
  if (Number(response.headers['content-length'] ?? 0) > limit) throw tooLarge();
  let received = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      if (received > limit) throw tooLarge();
      yield chunk;
    }
  }
  const body = new GrowingBytes();
  try {
    for await (const chunk of decoder ? decodedBy(decoder, counted()) : counted()) {
      if (body.length + chunk.length > maxBytes) throw tooLarge();
      body.append(chunk);
    }
  } catch (error) {
    if (!isDecoderError(error)) throw error;
    throw new FetchError('protocol', host, 'the compressed body is invalid or truncated', {
      cause: error,
    });
  }
  return body.bytes;
}

function decodedBy(
  decoder: Transform,
  encoded: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  // The reader of the decoder receives errors of both streams.
  pipeline(encoded, decoder, () => undefined);
  return decoder as AsyncIterable<Uint8Array>;
}

/** The decoder of a content coding; `undefined` for none. @throws {FetchError} `protocol` */
function decoderOf(coding: string | undefined, host: string): Transform | undefined {
  switch (coding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    default:
      throw new FetchError(
        'protocol',
        host,
        `the body has the content coding ${coding}, which was not asked for`,
      );
  }
}

/**
 * Whether an error is the decoder's: codes of zlib begin with `Z_`, those of a closed Node decoder with `ERR_`; both
 * lack a system call.
 */
const isDecoderError = (error: unknown): error is Error =>
  error instanceof Error &&
  'errno' in error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^(?:Z_|ERR_)/.test(error.code);

/** Opens a connection to a host by name or address, which the caller destroys. Any error counts as a failed dial. */
export type FetchConnect = (target: Endpoint, signal: AbortSignal) => Promise<Duplex>;

const MOST_REDIRECTIONS = 5;
/** Maximum bytes of a response's header section, and of its fields; Node drops further fields. */
const MOST_HEADER_BYTES = 32 * 1024;
const MOST_HEADERS = 200;

const DEFAULT_HEADERS: Readonly<Record<string, string>> = {
  'user-agent': `weir/${VERSION}`,
  accept: '*/*',
  'accept-encoding': ACCEPTED_ENCODINGS,
};

/**
 * Creates an HTTP client over any connections. HTTP and TLS are Node's; each request has a connection of its own.
 *
 * @param ca trusted in addition to the system's certificates
 */
export function createFetch(connect: FetchConnect, ca?: CaSpec): Fetch {
  return async ({ url, method = 'GET', headers = {}, timeoutMs, maxBytes }, signal) => {
    signal?.throwIfAborted();
    let hop = firstHop(url, headers, DEFAULT_HEADERS);
    using deadline = new Deadline(systemClock, timeoutMs, 'the request', signal);
    const exchange = { connect, ca, method, maxBytes, signal: deadline.signal };
    try {
      for (let redirections = 0; redirections <= MOST_REDIRECTIONS; redirections++) {
        const outcome = await exchangeWith(hop, exchange);
        if (!('redirection' in outcome)) return outcome;
        hop = outcome.redirection;
      }
    } catch (error) {
      if (signal?.aborted) throw abortReason(signal);
      throw deadline.signal.aborted
        ? toFetchError(deadline.signal.reason, hop)
        : toFetchError(error, hop);
    }
    throw new FetchError('redirect', hop.url.host, `more than ${MOST_REDIRECTIONS} redirections`);
  };
}

interface Exchange {
  readonly connect: FetchConnect;
  readonly ca: CaSpec | undefined;
  readonly method: 'GET' | 'HEAD';
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Sends one request and reads its response. */
async function exchangeWith(
  hop: Hop,
  exchange: Exchange,
): Promise<FetchedDocument | { readonly redirection: Hop }> {
  const { url } = hop;
  const { method, signal, maxBytes } = exchange;
  const connection = await openConnection(url, exchange);
  try {
    const { head, failed } = requestOn(connection, hop, method);
    const response = await unlessAborted(head, signal);
    const { statusCode: status = 0 } = response;
    const redirection = nextHop(hop, status, response.headers.location);
    if (redirection) return { redirection };
    const body =
      method === 'HEAD'
        ? new Uint8Array()
        : await unlessAborted(
            Promise.race([readBody(response, url.host, maxBytes), failed]),
            signal,
          );
    return { status, headers: headersOf(response), body, url: url.href };
  } finally {
    connection.destroy();
  }
}

/** The host and the port of an HTTP URL. */
export function targetOf({ hostname, port, protocol }: URL): Endpoint {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}

/** Opens the connection of a request, with TLS for `https:`. @throws {FetchError} `dial` or `tls` */
async function openConnection(url: URL, { connect, ca, signal }: Exchange): Promise<Duplex> {
  const isSecure = url.protocol === 'https:';
  const target = targetOf(url);
  let connection: Duplex;
  try {
    connection = await connect(target, signal);
  } catch (error) {
    throw new FetchError('dial', url.host, dialReason(error, target), { cause: error });
  }
  if (!isSecure) return connection;
  const client = new NodeClient(
    { serverName: target.host, allowInsecure: false, ca },
    ['http/1.1'],
    systemClock,
  );
  try {
    return await client.connect(connection, target, signal);
  } catch (error) {
    throw new FetchError('tls', url.host, `TLS: ${tlsFailure(error)}`, { cause: error });
  }
}

/** The reason of a failed dial, without the target if the reason begins with it. */
function dialReason(error: unknown, target: Endpoint): string {
  // The message of a FlowError is the outbound's reason.
  const { message } = error instanceof FlowError ? error : toDialError(error, target);
  const named = `${formatEndpoint(target)}: `;
  return message.startsWith(named) ? message.slice(named.length) : message;
}

/**
 * @returns the response, once its header section is complete; and a promise that rejects with the failure of request or
 * response, as Node's parser reports an invalid body to the request alone
 */
function requestOn(
  connection: Duplex,
  { url, headers }: Hop,
  method: 'GET' | 'HEAD',
): { readonly head: Promise<IncomingMessage>; readonly failed: Promise<never> } {
  const { promise: head, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const request = httpRequest({
    createConnection: () => connection,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { Host: url.host, ...Object.fromEntries(headers) },
    maxHeaderSize: MOST_HEADER_BYTES,
    // Overrides NODE_OPTIONS.
    insecureHTTPParser: false,
  });
  request.maxHeadersCount = MOST_HEADERS;
  request
    .on('response', resolve)
    // 101 without an upgrade request.
    .on('upgrade', () => reject(new Error('the server switches to another protocol')))
    .on('error', (error) => {
      reject(error);
      fail(error);
    })
    .end();
  return { head, failed };
}

const headersOf = ({ headersDistinct }: IncomingMessage): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]),
  );

/** Clearer texts for error codes of Node's parser and of sockets. */
const REASONS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `the response has more than ${MOST_HEADER_BYTES} bytes of headers`,
  HPE_INVALID_EOF_STATE: 'the connection ended before the response was complete',
  ECONNRESET: 'the connection ended before the response was complete',
  EPIPE: 'the connection ended before the response was complete',
};

function toFetchError(error: unknown, { url: { host } }: Hop): FetchError {
  if (error instanceof FetchError) return error;
  const options = { cause: error };
  if (error instanceof DeadlineError)
    return new FetchError('timeout', host, error.message, options);
  const code = codeOf(error) ?? '';
  const reason =
    REASONS[code] ??
    (code.startsWith('HPE_') ? 'the response is not valid HTTP' : messageOf(error));
  return new FetchError('protocol', host, reason, options);
}

/**
 * The reason of a NodeClient's failed connection, without the parts of its message for outbounds: the name of their
 * server, and advice on their settings.
 */
export function tlsFailure(error: unknown): string {
  const cause = error instanceof DialError && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? tlsReason(cause) : messageOf(cause);
}

/** A request to one host; a redirection turns it into the next one. */
export interface Hop {
  /** The URL without user information. */
  readonly url: URL;
  /** Headers by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
}

const REDIRECTIONS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that another host may receive after a redirection: none that could be a secret. */
const HARMLESS_HEADERS: ReadonlySet<string> = new Set([
  'user-agent',
  'accept',
  'accept-encoding',
  'accept-language',
  'if-none-match',
  'if-modified-since',
  'range',
]);

/** Headers that only the client sets, since they describe the connection or a body. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The first request for a URL, whose user information becomes a header.
 * @param defaults by lower-case name; `headers` replace them
 * @throws {FetchError} `url`
 */
export function firstHop(
  text: string,
  headers: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
): Hop {
  const url = URL.parse(text);
  if (!url) throw new FetchError('url', undefined, 'not a URL');
  if (!isHttp(url)) {
    throw new FetchError('url', undefined, `a URL of ${url.protocol} instead of http: or https:`);
  }
  const all = new Map(Object.entries(defaults));
  if (url.username !== '' || url.password !== '') all.set('authorization', basicOf(url));
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower)) {
      throw new FetchError('url', url.host, `the header ${name} cannot be chosen`);
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (error) {
      // The message quotes only the name of the header.
      throw new FetchError('url', url.host, messageOf(error));
    }
    all.set(lower, value);
  }
  return { url: withoutUserinfo(url), headers: all };
}

/**
 * The next request of a redirection; `undefined` if the response is not one.
 * @throws {FetchError} `redirect` for one that is not followed
 */
export function nextHop(
  { url, headers }: Hop,
  status: number,
  location: string | undefined,
): Hop | undefined {
  if (!REDIRECTIONS.has(status) || location === undefined) return undefined;
  const next = URL.parse(location, url);
  if (!next) throw new FetchError('redirect', url.host, 'redirects to something that is not a URL');
  if (!isHttp(next)) throw new FetchError('redirect', url.host, `redirects to ${next.protocol}`);
  if (url.protocol === 'https:' && next.protocol === 'http:') {
    throw new FetchError('redirect', url.host, `redirects from https to http on ${next.host}`);
  }
  const kept = isSameHost(url, next)
    ? headers
    : new Map([...headers].filter(([name]) => HARMLESS_HEADERS.has(name)));
  return { url: withoutUserinfo(next), headers: kept };
}

const isHttp = ({ protocol }: URL): boolean => protocol === 'http:' || protocol === 'https:';

/** Whether both URLs have the same origin, or change from http to https on the default ports. */
const isSameHost = (from: URL, to: URL): boolean =>
  from.origin === to.origin ||
  (from.hostname === to.hostname && from.port === '' && to.port === '');

function withoutUserinfo(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  bare.hash = '';
  return bare;
}

/** Basic credentials (RFC 7617) of a URL's user information. @throws {FetchError} `url` */
function basicOf(url: URL): string {
  try {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  } catch {
    // The original error would quote the undecodable text.
    throw new FetchError('url', url.host, 'the user information of the URL is not UTF-8');
  }
}
