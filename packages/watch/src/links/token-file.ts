import { WeirError } from '@weir/base';
import { jsonIn } from '@weir/base/text/json';
import { newToken } from '@weir/server/local-http';
import { LockFile } from '@weir/server/edits';
import { readStored, writeStored } from '@weir/nodes/subscribe/stored-file';

/** The secret part of a user's URL. */
export interface LinkToken {
  /** 256 random bits, 43 characters of base64url. */
  readonly token: string;
  /** When it was made, in Unix milliseconds. */
  readonly created: number;
}

/** What the file of tokens holds. */
export interface StoredLinks {
  /** The address below which the tokens are served, with a final slash, once a server has been started. */
  readonly base: string | undefined;
  /** By name of the user. */
  readonly tokens: ReadonlyMap<string, LinkToken>;
}

const NO_LINKS: StoredLinks = { base: undefined, tokens: new Map() };

const VERSION = 1;

/** Milliseconds to wait for another process that changes the file. */
const LOCK_MS = 10_000;

const TOKEN = /^[\w-]{43}$/;

/** Maximum number of users; a file of them has 12 MB. */
const MOST_TOKENS = 100_000;

/**
 * Reads a file of tokens; one that does not exist has none.
 * @throws {WeirError} for a file that cannot be read, or that no version of Weir has written
 */
export async function readLinks(path: string): Promise<StoredLinks> {
  const bytes = await readStored(path);
  // Empty while another process creates it.
  return bytes === undefined || bytes.length === 0 ? NO_LINKS : parseLinks(path, bytes);
}

/**
 * Changes a file of tokens, which is created if it does not exist, for its owner alone. Processes take turns.
 * @param change returns the same object for no change
 * @throws {WeirError} for a file that cannot be read or written
 */
export async function changeLinks(
  path: string,
  change: (links: StoredLinks) => StoredLinks,
): Promise<StoredLinks> {
  await using _lock = await LockFile.acquire(`${path}.lock`, { what: path, waitMs: LOCK_MS });
  const before = await readLinks(path);
  const after = change(before);
  if (after !== before) await writeStored(path, Buffer.from(linksText(after)));
  return after;
}

/** The links with a new token for a user, in place of the one before. */
export function withToken(links: StoredLinks, user: string, now: number): StoredLinks {
  const tokens = new Map(links.tokens);
  tokens.set(user, { token: newToken(), created: now });
  return { ...links, tokens };
}

/** The links with a token for each of the users; the same object where none is missing. */
export function withUsers(links: StoredLinks, users: Iterable<string>, now: number): StoredLinks {
  const missing = Array.from(users).filter((user) => !links.tokens.has(user));
  if (missing.length === 0) return links;
  const tokens = new Map(links.tokens);
  for (const user of missing) tokens.set(user, { token: newToken(), created: now });
  if (tokens.size > MOST_TOKENS) {
    throw new WeirError('links', `more than ${MOST_TOKENS} users have links`);
  }
  return { ...links, tokens };
}

/** The links without those of others than the users; the same object where there are none. */
export function withoutOthers(links: StoredLinks, users: ReadonlySet<string>): StoredLinks {
  const kept = [...links.tokens].filter(([user]) => users.has(user));
  return kept.length === links.tokens.size ? links : { ...links, tokens: new Map(kept) };
}

const linksText = ({ base, tokens }: StoredLinks): string => {
  const links = Array.from(tokens, ([user, { token, created }]) => ({
    user,
    token,
    created: new Date(created).toISOString(),
  }));
  return `${JSON.stringify({ version: VERSION, base, links }, undefined, 2)}\n`;
};

/** Parses a file of tokens. @throws {WeirError} for anything that no version of Weir has written */
export function parseLinks(path: string, bytes: Uint8Array): StoredLinks {
  const invalid = (what: string): WeirError =>
    new WeirError('links', `${path} is not a file of link tokens: ${what}`, {
      hint: 'name another file with --tokens; without its file every user gets a new link',
    });
  const parsed = jsonIn(new TextDecoder().decode(bytes));
  if (parsed === undefined) throw invalid('it is not JSON');
  const { version, base, links } = (parsed ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== VERSION || !Array.isArray(links)) throw invalid('it has another form');
  if (links.length > MOST_TOKENS) throw invalid(`it has more than ${MOST_TOKENS} tokens`);
  const tokens = new Map<string, LinkToken>();
  for (const [index, link] of (links as readonly unknown[]).entries()) {
    const { user, token, created } = (link ?? {}) as Readonly<Record<string, unknown>>;
    const at = typeof created === 'string' ? Date.parse(created) : Number.NaN;
    if (typeof user !== 'string' || typeof token !== 'string' || !TOKEN.test(token)) {
      throw invalid(`its link ${index + 1} has no user or no token`);
    }
    if (Number.isNaN(at)) throw invalid(`its link ${index + 1} has no date`);
    tokens.set(user, { token, created: at });
  }
  return { base: typeof base === 'string' ? base : undefined, tokens };
}
