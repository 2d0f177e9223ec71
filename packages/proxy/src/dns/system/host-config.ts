import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { codeOf } from '@weir/base';
import type { Clock } from '@weir/io/time';
import { ipVersion, normalizeDomain, normalizeHost } from '@weir/io/addresses';
import {
  MAX_CONF_SIZE,
  parseResolvConf,
  RESOLVED_STUBS,
  type ResolvConf,
} from './system-resolvers.ts';

/** The files that configure how the host resolves names. */
export interface HostPaths {
  readonly resolvConf: string;
  readonly hosts: string;
  readonly nameSwitch: string;
}

export const LINUX_PATHS: HostPaths = {
  resolvConf: '/etc/resolv.conf',
  hosts: '/etc/hosts',
  nameSwitch: '/etc/nsswitch.conf',
};

/** The host's resolution of names, if its files are configured in the usual way. */
export interface HostConfig {
  readonly hosts: HostsTable;
  /** The parsed resolv.conf; the same object as long as the file is unchanged. */
  readonly resolv: ResolvConf;
  /** The sources of nsswitch.conf(5), `files` and `dns` among them. */
  readonly sources: ReadonlySet<string>;
  /** The host name in lower case. */
  readonly hostname: string;
}

/** Milliseconds between two checks of the files. */
const CHECK_MS = 1000;
/** Size in bytes beyond which the hosts file is left to the C library. */
const MAX_HOSTS_SIZE = 32 * 1024 * 1024;

/** The parsed content of one file, kept until the file changes. */
class WatchedFile<T> {
  readonly #path: string;
  readonly #limit: number;
  readonly #read: (path: string | undefined) => Promise<T>;
  #version: string | undefined;
  #value: T | undefined;

  /** Watches a file. `read` is called without a path when there is no such file. */
  constructor(path: string, limit: number, read: (path: string | undefined) => Promise<T>) {
    this.#path = path;
    this.#limit = limit;
    this.#read = read;
  }

  /** Returns the content; `undefined` when the file is too large, is not a regular file, or cannot be read. */
  async current(): Promise<T | undefined> {
    try {
      const version = await this.#versionNow();
      if (version !== this.#version) {
        this.#value = version === undefined ? undefined : await this.#load(version);
        this.#version = version;
      }
    } catch {
      // The C library may succeed, and reports the failure otherwise.
      this.#version = undefined;
      this.#value = undefined;
    }
    return this.#value;
  }

  #load(version: string): Promise<T> {
    return this.#read(version === ABSENT ? undefined : this.#path);
  }

  async #versionNow(): Promise<string | undefined> {
    try {
      const stats = await stat(this.#path, { bigint: true });
      // Reading a pipe might never end.
      if (!stats.isFile()) return undefined;
      const { dev, ino, size, mtimeNs } = stats;
      return size > this.#limit ? undefined : `${dev} ${ino} ${size} ${mtimeNs}`;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return ABSENT;
      throw error;
    }
  }
}

const ABSENT = 'absent';

/** Reads the files that configure how this host resolves names; changes take effect within a second. */
export class HostFiles {
  readonly #clock: Clock;
  readonly #resolv: WatchedFile<ResolvConf | undefined>;
  readonly #hosts: WatchedFile<HostsTable>;
  readonly #sources: WatchedFile<ReadonlySet<string> | undefined>;
  #checked = Number.NEGATIVE_INFINITY;
  #config: Promise<HostConfig | undefined> | undefined;

  constructor(clock: Clock, paths: HostPaths) {
    this.#clock = clock;
    this.#resolv = new WatchedFile(paths.resolvConf, MAX_CONF_SIZE, async (path) =>
      path === undefined ? undefined : parseResolvConf(await readFile(path, 'utf8'), environment()),
    );
    this.#sources = new WatchedFile(paths.nameSwitch, MAX_CONF_SIZE, async (path) =>
      hostSources(path === undefined ? undefined : await readFile(path, 'utf8')),
    );
    this.#hosts = new WatchedFile(paths.hosts, MAX_HOSTS_SIZE, async (path) =>
      path === undefined ? new Map() : readHosts(createReadStream(path)),
    );
  }

  /** Returns the configuration; `undefined` when it is left to the C library. Never rejects. */
  current(): Promise<HostConfig | undefined> {
    const now = this.#clock.now();
    if (!this.#config || now - this.#checked >= CHECK_MS) {
      this.#checked = now;
      this.#config = this.#after(this.#config);
    }
    return this.#config;
  }

  /** Checks the files after the previous check, so that a long hosts file is not read twice at once. */
  async #after(before: Promise<HostConfig | undefined> | undefined) {
    await before;
    const [sources, resolv, hosts] = await Promise.all([
      this.#sources.current(),
      this.#resolv.current(),
      this.#hosts.current(),
    ]);
    if (!sources || !resolv || !hosts) return undefined;
    const asksResolved = resolv.nameservers.every((each) => RESOLVED_STUBS.has(each));
    if (sources.has('resolve') && !asksResolved) return undefined;
    return { sources, resolv, hosts, hostname: hostname().toLowerCase() };
  }
}

const environment = () => ({
  localDomain: process.env['LOCALDOMAIN'],
  resOptions: process.env['RES_OPTIONS'],
  hostname: hostname(),
});

/** Addresses by canonical name, of both families. */
type HostsTable = ReadonlyMap<string, readonly string[]>;

/** Addresses of one name that are kept. */
const MAX_ADDRESSES = 32;
const BLANKS = /[ \t]+/;

/**
 * Reads hosts(5). A name on several lines has the addresses of all of them; lines that do not start
 * with an address are skipped. Long files are read in pieces, so that other work continues.
 *
 * @throws {Error} when the stream fails.
 */
export async function readHosts(file: Readable): Promise<HostsTable> {
  const table = new Map<string, string[]>();
  // readline ends its lines without an error when the stream fails.
  let failure: Error | undefined;
  file.on('error', (error) => (failure = error));
  for await (const line of createInterface({ input: file, crlfDelay: Infinity })) {
    const comment = line.indexOf('#');
    const text = comment < 0 ? line : line.slice(0, comment);
    const [written = '', ...names] = text.trim().split(BLANKS);
    if (ipVersion(written) === 0) continue;
    const address = normalizeHost(written);
    if (address === undefined) continue;
    for (const each of names) {
      const name = normalizeDomain(each);
      if (name === undefined) continue;
      const known = table.get(name);
      if (!known) table.set(name, [address]);
      else if (known.length < MAX_ADDRESSES && !known.includes(address)) known.push(address);
    }
  }
  if (failure) throw failure;
  return table;
}

/** A source, or an action after it, in brackets (nsswitch.conf(5)). */
const WORD = /\[[^\][]*\]|[^\s[\]]+/g;

/** Sources other than `files` and `dns` that only have names of their own kind. */
const NARROW: ReadonlySet<string> = new Set([
  'myhostname',
  'mymachines',
  'resolve',
  'mdns',
  'mdns4',
  'mdns6',
  'mdns_minimal',
  'mdns4_minimal',
  'mdns6_minimal',
]);

/** Actions that change nothing for names in `files` and `dns`. */
const USUAL_ACTION = /^\[(?:NOTFOUND|!UNAVAIL)=return\]$/i;
const BEFORE_ACTION = /^(?:resolve|mdns[46]?_minimal)$/;

/** The sources of the C library when the file or the line is missing. */
const DEFAULT: ReadonlySet<string> = new Set(['files', 'dns']);

/**
 * Returns the sources of host names in nsswitch.conf(5) when the line is a usual one: the hosts file first, then DNS,
 * with other sources only for names of their own kinds. `undefined` when the line is left to the C library.
 */
export function hostSources(text: string | undefined): ReadonlySet<string> | undefined {
  const line = text?.split('\n').find((each) => /^[ \t]*hosts:/.test(each));
  if (line === undefined) return DEFAULT;
  const words = line.slice(line.indexOf(':') + 1).replace(/#.*/s, '');
  const sources = new Set<string>();
  let last = '';
  for (const word of words.match(WORD) ?? []) {
    if (word.startsWith('[')) {
      if (!USUAL_ACTION.test(word) || !BEFORE_ACTION.test(last)) return undefined;
      continue;
    }
    if (word !== 'files' && word !== 'dns' && !NARROW.has(word)) return undefined;
    if (word === 'dns' && !sources.has('files')) return undefined;
    sources.add(word);
    last = word;
  }
  return sources.has('dns') ? sources : undefined;
}
