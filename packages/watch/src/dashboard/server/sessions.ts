import { sha256 } from '@weir/crypto/hash';
import { LocalHttpError, newToken, secretCheck } from '@weir/server/local-http';

/** A session expires after this many milliseconds without a request or a stream, and with the process. */
const IDLE_MS = 12 * 3_600_000;
/** An unused link expires after this many milliseconds. */
const LINK_MS = 3_600_000;
/** Maximum number of sessions. */
const MAX_SESSIONS = 16;

/** The session of one browser. */
export interface BrowserSession {
  /** Checks the secret that the page sends besides the cookie, which pages of other ports of this host may see. */
  readonly isKey: (given: string) => boolean;
  usedAt: number;
  /** Number of open streams. */
  streams: number;
}

/** The credentials that a browser receives for a link. */
export interface OpenedSession {
  readonly cookie: string;
  readonly key: string;
}

/** Single-use links, and the sessions of the browsers that used them. Only digests of tokens are kept. */
export class Sessions {
  readonly #now: () => number;
  /** Sessions by the digest of their cookie. */
  readonly #sessions = new Map<string, BrowserSession>();
  #link: { readonly isToken: (given: string) => boolean; readonly until: number } | undefined;

  /** @param now returns milliseconds of any origin */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Creates a link and returns its token; an earlier unused link becomes invalid. */
  newLink(): string {
    const token = newToken();
    this.#link = { isToken: secretCheck(token), until: this.#now() + LINK_MS };
    return token;
  }

  /**
   * Opens a session for the token of a link, which becomes invalid. Tokens cannot be guessed, so attempts are not
   * limited: a limit would lock out the user while another process makes attempts.
   *
   * @throws {LocalHttpError} 401 for any other text
   */
  open(token: string): OpenedSession {
    const now = this.#now();
    const link = this.#link;
    if (!link?.isToken(token) || link.until <= now) {
      throw new LocalHttpError(401, 'used-link', 'this link was used before, or is too old');
    }
    this.#link = undefined;
    this.#makeRoom();
    const opened = { cookie: newToken(), key: newToken() };
    const session = { isKey: secretCheck(opened.key), usedAt: now, streams: 0 };
    this.#sessions.set(digestOf(opened.cookie), session);
    return opened;
  }

  /** The session of a cookie and its page's key. @throws {LocalHttpError} 401 */
  find(cookie: string | undefined, key: string): BrowserSession {
    const now = this.#now();
    const digest = digestOf(cookie ?? '');
    const session = this.#sessions.get(digest);
    if (session && isIdle(session, now)) this.#sessions.delete(digest);
    else if (session?.isKey(key)) {
      session.usedAt = now;
      return session;
    }
    throw new LocalHttpError(401, 'no-session', 'open the link that weir dashboard prints');
  }

  /** Drops expired sessions, and at the limit the least recently used one. */
  #makeRoom(): void {
    const now = this.#now();
    for (const [digest, session] of this.#sessions) {
      if (isIdle(session, now)) this.#sessions.delete(digest);
    }
    if (this.#sessions.size < MAX_SESSIONS) return;
    const [oldest] = [...this.#sessions].toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest) this.#sessions.delete(oldest[0]);
  }
}

const isIdle = ({ usedAt, streams }: BrowserSession, now: number): boolean =>
  streams === 0 && usedAt + IDLE_MS <= now;

const digestOf = (text: string): string =>
  Buffer.from(sha256(Buffer.from(text))).toString('base64');

/** Maximum number of characters of a `Cookie` header; a browser sends some thousand. */
const MAX_COOKIES = 8192;

/** The value of the cookie `name` in a `Cookie` header (RFC 6265 §5.4). */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > MAX_COOKIES) return undefined;
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    if (at >= 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
