import { streamOf, type Draft } from '../draft.ts';
import { namedProxyDraft, type Login } from '../protocol-drafts.ts';
import { decoded, fromBase64 } from './encodings.ts';
import { Link } from './link.ts';

/* Links of SOCKS and HTTP proxies, which programs write in several forms. */

const HTTP_URL = /^https?:\/\//i;
const TLS_PARAMETERS: ReadonlySet<string> = new Set(['sni', 'peer', 'allowInsecure', 'insecure']);

/**
 * Whether a URL is the link of an HTTP proxy: it has a port or a user, and neither a path nor parameters other than
 * those of TLS. Any other URL is the address of a document.
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

/** Parses a login: `user:pass`, each percent-encoded, or base64 of both, as in v2rayN. */
function loginOf(credentials: string): Login {
  if (credentials === '') return {};
  const plain = fromBase64(decoded(credentials));
  if (plain?.includes(':') === true) return divided(plain);
  const { user, pass } = divided(credentials);
  return { user: decoded(user), ...(pass !== undefined && { pass: decoded(pass) }) };
}

/** Splits a text at its first colon. */
function divided(text: string): Login & { readonly user: string } {
  const colon = text.indexOf(':');
  return colon < 0 ? { user: text } : { user: text.slice(0, colon), pass: text.slice(colon + 1) };
}

/**
 * Decodes a link whose part before the parameters is base64 of `user:pass@host:port`, as in Shadowrocket and old
 * versions of v2rayN; any other link is returned unchanged.
 */
export function withPlainPlace(text: string): string {
  const { place: coded, rest } = placeOf(text);
  // Base64 before an `@` encodes only the login.
  const plain = coded.includes('@') ? undefined : placeFromBase64(coded);
  if (plain?.includes(':') !== true) return text;
  const at = plain.lastIndexOf('@');
  const { user, pass } = divided(plain.slice(0, Math.max(at, 0)));
  const login = [user, ...(pass === undefined ? [] : [pass])].map(encodeURIComponent).join(':');
  const place = at < 0 ? plain : `${login}@${plain.slice(at + 1)}`;
  return text.slice(0, text.indexOf('://') + 3) + place + rest;
}

/** The part of a link between its scheme and its parameters or name, and the rest. */
export function placeOf(link: string): { readonly place: string; readonly rest: string } {
  const start = link.indexOf('://') + 3;
  const length = link.slice(start).search(/[?#]/);
  const end = length < 0 ? link.length : start + length;
  return { place: link.slice(start, end), rest: link.slice(end) };
}

/** The decoded text of a base64 place, which may contain a `/`, or end with one as a path. */
export function placeFromBase64(place: string): string | undefined {
  const coded = decoded(place);
  const slash = coded.indexOf('/');
  const forms = [coded, coded.replace(/\/$/, ''), ...(slash < 0 ? [] : [coded.slice(0, slash)])];
  return forms
    .map((form) => fromBase64(form)?.trim())
    .find((plain) => plain && endsWithPort(plain));
}

const endsWithPort = (text: string): boolean =>
  /^\d{1,5}$/.test(text.slice(text.lastIndexOf(':') + 1));
