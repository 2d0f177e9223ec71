import { WeirError } from '@weir/base';
import { decodeSource } from '@weir/config/documents';
import { listUsers } from '@weir/config/edit';
import { ConfigError, renderConfigError } from '@weir/config';
import { sha256 } from '@weir/crypto/hash';
import { configServers, type Shared, type ShareOptions } from '@weir/nodes/share';
import { loadForms } from '@weir/proxy/protocols';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { loadConfigFile } from '@weir/server/loading';
import { FileStamps } from './file-stamps.ts';
import {
  changeLinks,
  readLinks,
  type StoredLinks,
  withoutOthers,
  withUsers,
} from './token-file.ts';

/** A user with a link. */
export interface LinkedUser {
  readonly name: string;
  readonly servers: readonly Shared[];
}

/** The users of a configuration file whose servers can be shared, by name. */
interface SharedUsers {
  readonly users: ReadonlyMap<string, readonly Shared[]>;
  /** The files that were read. */
  readonly files: readonly string[];
  /** What the operator should know of servers that are left out. */
  readonly notes: readonly string[];
}

/** How clients reach each inbound; `undefined` for one that is not shared. */
export type Reach = (inbound: string) => ShareOptions | undefined;

/**
 * The users of a configuration file. A user of several inbounds with one name has the servers of all of them. Users
 * without a name of their own have none here: a number in the list is that of another user after a removal.
 *
 * @throws {ConfigError} for an invalid configuration
 */
export async function readSharedUsers(config: string, reach: () => Reach): Promise<SharedUsers> {
  await loadForms();
  const files = new FileDigests();
  const bytes = await files.read(config);
  const loaded = await loadConfigFile(config, { files, bytes });
  const written = listUsers(decodeSource(bytes, config));
  const { servers, leftOut } = configServers(loaded, written, reach());
  const users = new Map<string, Shared[]>();
  for (const server of servers) {
    const name = server.user;
    if (name === undefined || /^#\d+$/.test(name)) continue;
    const found = users.get(name);
    if (found) found.push(server);
    else users.set(name, [server]);
  }
  const notes = leftOut.map(({ inbound, error }) => `inbound "${inbound}" has no links: ${error.message}`);
  return { users, files: [...new Set([config, ...files.paths])], notes };
}

interface LinkUsersOptions {
  /** Path of the configuration file. */
  readonly config: string;
  /** Path of the file of tokens. */
  readonly tokens: string;
  /** Called at each load of the configuration. */
  readonly reach: () => Reach;
  /** Receives what the operator should know, one text at a time. */
  readonly note: (text: string) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * The users with links, current with the configuration and the file of tokens: a removed user has none from the next
 * request on.
 */
export class LinkUsers {
  readonly #options: LinkUsersOptions;
  readonly #stamps = new FileStamps();
  #shared: SharedUsers = { users: new Map(), files: [], notes: [] };
  /** Names of users by the SHA-256 of their token in hex: the time of a look-up says nothing about a token. */
  #names: ReadonlyMap<string, string> = new Map();
  #problem: string | undefined;
  #running: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;

  private constructor(options: LinkUsersOptions) {
    this.#options = options;
  }

  /**
   * Loads the users, and gives those without a token one.
   * @throws {WeirError} for an invalid configuration or file of tokens
   */
  static async open(options: LinkUsersOptions): Promise<LinkUsers> {
    const users = new LinkUsers(options);
    await users.#stamps.changed([options.config, options.tokens]);
    await users.#load();
    return users;
  }

  get size(): number {
    return this.#names.size;
  }

  /** The user of a token; compared in time that does not depend on how much of a token is right. */
  find(token: string): LinkedUser | undefined {
    const name = this.#names.get(digestOf(token));
    const servers = name === undefined ? undefined : this.#shared.users.get(name);
    return name === undefined || servers === undefined ? undefined : { name, servers };
  }

  /**
   * Reads the files again if any has changed before this call. Callers that wait share one comparison. What cannot be
   * read is noted once; the users before stay.
   */
  refresh(): Promise<void> {
    return (this.#waiting ??= this.#afterRunning());
  }

  async #afterRunning(): Promise<void> {
    await this.#running;
    this.#waiting = undefined;
    this.#running = this.#compare();
    await this.#running;
  }

  async #compare(): Promise<void> {
    const { config, tokens, note } = this.#options;
    if (!(await this.#stamps.changed([...new Set([config, ...this.#shared.files, tokens])]))) return;
    try {
      await this.#load();
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      const text = error instanceof ConfigError ? renderConfigError(error) : error.message;
      if (text !== this.#problem) note(`the users are those of before: ${text}`);
      this.#problem = text;
    }
  }

  async #load(): Promise<void> {
    const { config, tokens, reach, note, now } = this.#options;
    const shared = await readSharedUsers(config, reach);
    const known = new Set(this.#shared.notes);
    for (const text of shared.notes) if (!known.has(text)) note(text);
    // From here on removed users have no link, also where the file of tokens cannot be written.
    this.#shared = shared;
    const names = new Set(shared.users.keys());
    const current = (links: StoredLinks): StoredLinks =>
      withoutOthers(withUsers(links, names, now()), names);
    const before = await readLinks(tokens);
    const links = current(before) === before ? before : await changeLinks(tokens, current);
    this.#names = new Map(Array.from(links.tokens, ([user, { token }]) => [digestOf(token), user]));
  }
}

const digestOf = (token: string): string => Buffer.from(sha256(Buffer.from(token))).toString('hex');
