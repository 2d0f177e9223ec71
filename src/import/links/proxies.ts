import { streamOf, type Draft } from '../draft.ts';
import { namedProxyDraft, type Login } from '../protocol-drafts.ts';
import { decoded, fromBase64 } from './encodings.ts';
import { Link } from './link.ts';

/* Links of SOCKS and HTTP proxies, for which programs have several forms. */

const HTTP_URL = /^https?:\/\//i;
const TLS_PARAMETERS: ReadonlySet<string> = new Set(['sni', 'peer', 'allowInsecure', 'insecure']);

/**
 * Whether a URL is the link of an HTTP proxy: one with a port or a user, and neither a path nor
 * parameters but those of TLS. Any other is the address of a document.
 */
export function isHttpProxy(line: string): boolean {
  if (!HTTP_URL.test(line) || !URL.canParse(line)) return false;
  const { pathname } = new URL(line);
  const link = new Link(line);
  return (
    (link.user !== '' || link.hasPort) &&
    pathname === '/' &&
    link.query.keys.every((key) => TLS_PARAMETERS.has(key))
  );
}

export const readHttpLink = (link: Link): Draft =>
  namedProxyDraft(
    'http',
    link.place,
    link.scheme === 'https' ? streamOf({ kind: '' }, link.tls) : undefined,
    loginOf(link.credentials),
  );

export const readSocksLink = (link: Link): Draft =>
  namedProxyDraft('socks', link.place, undefined, loginOf(link.credentials));

/** `user:pass`, each percent-encoded, or base64 of both, as v2rayN writes it. */
function loginOf(credentials: string): Login {
  if (credentials === '') return {};
  const plain = fromBase64(decoded(credentials));
  if (plain?.includes(':') === true) return divided(plain);
  const { user, pass } = divided(credentials);
  return { user: decoded(user), ...(pass !== undefined && { pass: decoded(pass) }) };
}

/** Divides at the first colon. */
function divided(text: string): Login & { readonly user: string } {
  const colon = text.indexOf(':');
  return colon < 0 ? { user: text } : { user: text.slice(0, colon), pass: text.slice(colon + 1) };
}

/**
 * A link in plain form where all of it up to the parameters is base64 of `user:pass@host:port`, as
 * Shadowrocket and old versions of v2rayN write it; any other link as it is.
 */
export function withPlainPlace(text: string): string {
  const start = text.indexOf('://') + 3;
  const before = text.slice(start).split(/[?#]/, 1)[0] ?? '';
  // Base64 in front of an `@` is that of the login alone, and may have a `/`.
  if (before.includes('@')) return text;
  const body = before.split('/', 1)[0] ?? '';
  const plain = fromBase64(body);
  if (plain?.includes(':') !== true) return text;
  const at = plain.lastIndexOf('@');
  const { user, pass } = divided(plain.slice(0, Math.max(at, 0)));
  const login = [user, ...(pass === undefined ? [] : [pass])].map(encodeURIComponent).join(':');
  const place = at < 0 ? plain : `${login}@${plain.slice(at + 1)}`;
  return text.slice(0, start) + place + text.slice(start + body.length);
}
