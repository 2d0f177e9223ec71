import { WeirError } from '@weir/base';
import { quoted } from '@weir/base/printable';
import { counted } from '@weir/base/text/amounts';
import { decodeSource } from '@weir/config/documents';
import { listUsers, type WrittenUser } from '@weir/config/edit';
import { ConfigError, renderConfigError } from '@weir/config';
import { sha256 } from '@weir/crypto/hash';
import { configServers, type Shared, type ShareOptions, shareOptions } from '@weir/nodes/share';
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

/** The named users of a configuration file. */
interface ConfigUsers {
  /** The servers by which clients reach each user; none where all its inbounds are local. */
  readonly users: ReadonlyMap<string, readonly Shared[]>;
  /** The files that were read. */
  readonly files: readonly string[];
  /** What the operator should know of servers that are left out, or that clients reject. */
  readonly notes: readonly string[];
}

/** How clients reach each inbound. */
export type Reach = (inbound: string) => ShareOptions;

/** Which users there are does not depend on how clients reach them. */
const ANYWHERE = shareOptions('127.0.0.1', { port: 1, roots: () => [], now: 0 });

/**
 * The named users of a configuration file. A user of several inbounds with one name has the servers of all of them. A
 * number in the list is no name: after a removal it is that of another user. Nor is the beginning of an id that several
 * users have.
 *
 * @param reach how clients reach the inbounds; without it the users have no servers
 * @throws {ConfigError} for an invalid configuration
 */
export async function readConfigUsers(config: string, reach?: Reach): Promise<ConfigUsers> {
  await loadForms();
  const files = new FileDigests();
  const bytes = await files.read(config);
  const loaded = await loadConfigFile(config, { files, bytes });
  const written = listUsers(decodeSource(bytes, config));
  const all = configServers(loaded, written, () => ANYWHERE).servers;
  const shared = sharedIds(all, written);
  const users = new Map<string, Shared[]>();
  let unnamed = 0;
  for (const { user } of all) {
    if (user !== undefined && isName(user) && !shared.has(user)) users.set(user, []);
    else unnamed++;
  }
  const found = reach && configServers(loaded, written, reach);
  for (const server of found?.servers ?? []) users.get(server.user ?? '')?.push(server);
  const notes = [
    ...(unnamed === 0 ? [] : [`${counted(unnamed, 'user')} without a name: no link`]),
    ...(found?.leftOut ?? []).map(
      ({ inbound, error }) => `inbound ${quoted(inbound)} is in no link: ${error.message}`,
    ),
    ...(found?.refused ?? []).map(
      ({ inbound, certificate: { reason } }) =>
        `inbound ${quoted(inbound)}: ${reason}, so clients accept it only by its hash or as an authority`,
    ),
  ];
  return { users, files: [...new Set([config, ...files.paths])], notes };
}

/** Beginnings of ids by which users without a name are called, but of several users. */
function sharedIds(all: readonly Shared[], written: readonly WrittenUser[]): ReadonlySet<string> {
  const called = new Set(
    written.filter(({ name }) => name === undefined).map((user) => user.shown),
  );
  const first = new Map<string, unknown>();
  const shared = new Set<string>();
  for (const { user, server } of all) {
    if (user === undefined || !called.has(user)) continue;
    const { id } = server.access.settings;
    if (!first.has(user)) first.set(user, id);
    else if (first.get(user) !== id) shared.add(user);
  }
  return shared;
}

const isName = (user: string): boolean => !/^#\d+$/.test(user);

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
  #shared: ConfigUsers = { users: new Map(), files: [], notes: [] };
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

  /** Number of users with a link. */
  get size(): number {
    return this.#shared.users.size;
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
    // Its failure is that of its own callers.
    await this.#running?.catch(() => undefined);
    this.#waiting = undefined;
    this.#running = this.#compare();
    await this.#running;
  }

  async #compare(): Promise<void> {
    const { config, tokens, note } = this.#options;
    if (!(await this.#stamps.changed([...new Set([config, ...this.#shared.files, tokens])])))
      return;
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
    const shared = await readConfigUsers(config, reach());
    const known = new Set(this.#shared.notes);
    for (const text of shared.notes) if (!known.has(text)) note(text);
    // From here on removed users have no link, also where the file of tokens cannot be written.
    this.#shared = shared;
    const names = new Set(shared.users.keys());
    const current = (links: StoredLinks): StoredLinks =>
      withUsers(withoutOthers(links, names), names, now());
    const before = await readLinks(tokens);
    this.#take(before);
    if (current(before) !== before) this.#take(await changeLinks(tokens, current));
  }

  #take({ tokens }: StoredLinks): void {
    this.#names = new Map(Array.from(tokens, ([user, { token }]) => [digestOf(token), user]));
  }
}

const digestOf = (token: string): string => Buffer.from(sha256(Buffer.from(token))).toString('hex');
