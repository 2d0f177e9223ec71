import { codeOf, messageOf, VERSION, WeirError } from '@weir/base';
import {
  field,
  headBytes,
  listOf,
  parseResponseHead,
  readHead,
  type ResponseHead,
  startsResponse,
} from '@weir/http/http1';
import { INTERIM_LIMIT } from '@weir/http/fields';
import type { Endpoint } from '@weir/io/addresses';
import type { ByteLink } from '@weir/io/links';
import { SocketLink } from '@weir/io/sockets';
import type { Clock } from '@weir/io/time';
import { NodeClient } from '@weir/proxy/tls';
import { targetOf, tlsFailure } from '../fetch/http-fetch.ts';
import { LinkDuplex } from '@weir/io/duplex';

/** An invalid response from the URL's host; the message is one line. */
export class ExchangeError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('exchange', message, options);
  }
}

/**
 * Creates the links that requests for one URL are written to: TLS on flows for https, otherwise the flows themselves.
 */
export class UrlLinks {
  readonly url: URL;
  readonly target: Endpoint;
  /** Shared by all flows: loading the trusted certificates takes longer than a handshake. */
  readonly #client: NodeClient | undefined;

  constructor(url: URL, clock: Clock) {
    this.url = url;
    this.target = targetOf(url);
    if (url.protocol !== 'https:') return;
    const spec = { serverName: this.target.host, allowInsecure: false, ca: undefined };
    this.#client = new NodeClient(spec, ['http/1.1'], clock);
  }

  /**
   * Returns the link for requests over a flow.
   *
   * @throws {ExchangeError} for a failed handshake.
   * @throws the reason of `signal`
   */
  async over(flow: ByteLink, signal: AbortSignal): Promise<ByteLink> {
    if (!this.#client) return flow;
    try {
      const duplex = new LinkDuplex(flow);
      return new SocketLink(await this.#client.connect(duplex, this.target, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw new ExchangeError(`TLS with ${this.url.host}: ${tlsFailure(error)}`, { cause: error });
    }
  }
}

/** The response to one request. */
interface ProbeResponse {
  readonly head: ResponseHead;
  /** Whether the server accepts another request, provided that this one had no body. */
  readonly isReusable: boolean;
}

/**
 * Sends a request and reads the head of the response.
 *
 * @param method HEAD keeps the connection, GET has the server close it after the body
 * @param onFirstByte called when the first bytes of the response arrive
 * @param suspect see `Outbound.suspect`
 * @param accepts whether a status counts as success; by default all below 400 do
 * @throws {ExchangeError}
 * @throws the reason of `signal`
 */
export async function exchange(
  link: ByteLink,
  method: 'HEAD' | 'GET',
  url: URL,
  {
    signal,
    suspect,
    onFirstByte = () => undefined,
    accepts = (status) => status < 400,
  }: {
    readonly signal: AbortSignal;
    readonly suspect?: string | undefined;
    readonly onFirstByte?: () => void;
    readonly accepts?: (status: number) => boolean;
  },
): Promise<ProbeResponse> {
  const hint = suspect === undefined ? '' : `; ${suspect} looks like this`;
  try {
    const full = link.write(requestOf(method, url));
    if (full) await full;
    const first = await link.read(signal);
    if (first === undefined) {
      throw new ExchangeError(`the connection was closed without a response${hint}`);
    }
    onFirstByte();
    link.unread(first);
    const head = await finalHead(link, signal);
    if (!accepts(head.status)) {
      // A server that mistakes the request of a proxy protocol for HTTP responds with 400. Other statuses, and all
      // responses over TLS, are those of the URL's host.
      const isOfServer = head.status === 400 && url.protocol === 'http:';
      const why = isOfServer ? hint : refusesMethod(method, head.status) ? NO_HEAD : '';
      throw new ExchangeError(`the response has the status ${head.status}${why}`);
    }
    const isReusable =
      method === 'HEAD' &&
      head.version === '1.1' &&
      !listOf(head.fields, 'connection').includes('close');
    return { head, isReusable };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExchangeError) throw error;
    const what =
      codeOf(error) === 'ECONNRESET'
        ? 'the connection was reset without a response'
        : messageOf(error);
    throw new ExchangeError(`${what}${hint}`, { cause: error });
  }
}

const NO_HEAD = '; the host of the URL refuses HEAD requests';

/** Whether a response is about the method alone (RFC 9110 §15.5.6, §15.6.2). */
const refusesMethod = (method: 'HEAD' | 'GET', status: number): boolean =>
  method === 'HEAD' && (status === 405 || status === 501);

function requestOf(method: 'HEAD' | 'GET', url: URL): Uint8Array {
  const fields = [
    field('Host', url.host),
    field('User-Agent', `weir/${VERSION}`),
    field('Accept', '*/*'),
  ];
  if (method === 'GET') fields.push(field('Connection', 'close'));
  return headBytes(`${method} ${url.pathname}${url.search} HTTP/1.1`, fields);
}

/** Reads the head of the final response, skipping interim ones. */
async function finalHead(link: ByteLink, signal: AbortSignal): Promise<ResponseHead> {
  for (let skipped = 0; skipped <= INTERIM_LIMIT; skipped++) {
    const read = await readHead(link, startsResponse, signal);
    if (!read) throw new ExchangeError('the connection was closed without a response');
    const head = parseResponseHead(read.bytes);
    if (head.status >= 200) return head;
  }
  throw new ExchangeError('the server sends nothing but interim responses');
}
