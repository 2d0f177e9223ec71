import { validateHeaderName, validateHeaderValue } from 'node:http';
import { messageOf } from '@weir/base';
import { FetchError } from './contract.ts';

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
