import { addressInNetwork, type Cidr } from '@weir/base/ip';
import { type LocalExchange, type LocalListen, LocalServer } from '@weir/server/local-http';
import { ShareError } from '@weir/proxy/protocols/forms';
import { clientAddress } from './client-address.ts';
import { linkDocument } from './documents.ts';
import { formatFor, formatNamed, LINK_FORMATS } from './format.ts';
import type { LinkedUser, LinkUsers } from './link-users.ts';
import { PAGE_HEADERS, pageText } from './page.ts';
import { type QuotaReader, userinfoText } from './quota.ts';
import { RequestRates } from './request-rates.ts';

/** The default of `--listen`; the port beside that of `weir metrics`. */
export const STANDARD_LISTEN = '127.0.0.1:19348';

/** Headers of every response. URLs are secrets: no cache and no other page is to have them. */
const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'Cache-Control': 'no-store',
};

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };

/** Clients send one request; one that brings a reload of a large configuration may take seconds. */
const TIMES = { head: 10_000, request: 10_000, idle: 60_000 };
const MAX_CONNECTIONS = 512;

export interface LinksServerOptions {
  readonly listen: LocalListen;
  readonly users: Pick<LinkUsers, 'refresh' | 'find'>;
  /**
   * The address below which users have their URLs, with a final slash; its path is that of requests.
   * @param port the bound port; `undefined` for a unix socket
   */
  readonly base: (port: number | undefined) => string;
  /** Name of the server for people: in clients' lists of profiles, and on the page. */
  readonly title: string;
  /** Hours after which clients update. */
  readonly interval: number;
  readonly quota: QuotaReader;
  /** Proxies whose `X-Forwarded-For` counts. */
  readonly trusted: readonly Cidr[];
  readonly onDefect: (error: unknown) => void;
  /** Milliseconds of a clock that does not jump. */
  readonly now: () => number;
}

/** A running server of links. */
export interface LinksServer extends AsyncDisposable {
  /** The address below which users have their URLs. */
  readonly base: string;
  readonly server: LocalServer;
}

/**
 * Serves users their servers below `base`, by a token in the path. A request without a valid one gets the same response
 * whatever it lacks, after the same work: tokens cannot be found by trying.
 *
 * @throws {BindError}
 */
export async function startLinksServer(options: LinksServerOptions): Promise<LinksServer> {
  const { listen, users, onDefect } = options;
  const rates = new RequestRates();
  let base = '';
  const server = await LocalServer.start({
    listen,
    headers: HEADERS,
    maxConnections: MAX_CONNECTIONS,
    times: TIMES,
    isPublic: true,
    onDefect,
    async serve(exchange) {
      if (!rates.take(sourceOf(exchange, options.trusted), options.now())) {
        send(exchange, 429, 'too many requests\n', { ...TEXT, 'Retry-After': '1' });
        return;
      }
      await users.refresh();
      const token = tokenOf(exchange.path, base);
      const user = users.find(token);
      const reads = exchange.method === 'GET' || exchange.method === 'HEAD';
      if (user && reads) await sendUser(exchange, user, base + token, options);
      else send(exchange, 404, 'not found\n', TEXT);
    },
  });
  base = options.base(server.port);
  return { base, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function sourceOf({ request }: LocalExchange, trusted: readonly Cidr[]): string | undefined {
  const header = request.headers['x-forwarded-for'];
  return clientAddress(
    request.socket.remoteAddress,
    Array.isArray(header) ? header.join(',') : header,
    (address) => trusted.some((network) => addressInNetwork(address, network)),
  );
}

/** The token in a path; '' for a path that has none. */
function tokenOf(path: string, base: string): string {
  const { pathname } = new URL(base);
  return path.startsWith(pathname) ? path.slice(pathname.length).replace(/\/$/, '') : '';
}

async function sendUser(
  exchange: LocalExchange,
  { name, servers }: LinkedUser,
  url: string,
  { title, interval, quota: quotaOf, onDefect }: LinksServerOptions,
): Promise<void> {
  const asked = exchange.query.get('format');
  const format =
    asked === null
      ? formatFor(exchange.headers['user-agent'], exchange.headers.accept)
      : formatNamed(asked);
  if (format === undefined) {
    send(exchange, 400, `the formats are ${LINK_FORMATS.join(', ')}\n`, TEXT);
    return;
  }
  const quota = await quotaOf(name).catch((error: unknown) => {
    onDefect(error);
    return undefined;
  });
  const userinfo = userinfoText(quota);
  const headers = {
    Vary: 'Accept, User-Agent',
    'Profile-Title': titleText(title),
    'Profile-Update-Interval': String(interval),
    'Profile-Web-Page-Url': url,
    ...(userinfo !== undefined && { 'Subscription-Userinfo': userinfo }),
  };
  if (format === 'page') {
    const page = pageText({ title, user: name, url, quota, servers });
    send(exchange, 200, page, { ...headers, ...PAGE_HEADERS });
    return;
  }
  try {
    const { type, extension, text } = linkDocument(servers, format);
    const disposition = dispositionOf(title, extension);
    send(exchange, 200, text, {
      ...headers,
      'Content-Type': type,
      'Content-Disposition': disposition,
    });
  } catch (error) {
    if (!(error instanceof ShareError)) throw error;
    send(exchange, 406, `${error.message}\n`, TEXT);
  }
}

/** A title in a header: as it is where that is possible, otherwise in the form that clients know. */
const titleText = (title: string): string =>
  /^[\x20-\x7e]+$/.test(title) && !title.startsWith('base64:')
    ? title
    : `base64:${Buffer.from(title).toString('base64')}`;

/** `Content-Disposition` (RFC 6266), by whose name Clash calls the profile. */
function dispositionOf(title: string, extension: string): string {
  const plain = title.replaceAll(/[^\w.-]/g, '_');
  const encoded = encodeURIComponent(title).replaceAll(/['()*]/g, percentEncoded);
  return `attachment; filename="${plain}.${extension}"; filename*=UTF-8''${encoded}`;
}

const percentEncoded = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Sends a response; a body of the request is not read. */
function send(
  exchange: LocalExchange,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
): void {
  const close = exchange.request.complete ? {} : { Connection: 'close' };
  exchange.send(status, body, { ...close, ...headers });
}
