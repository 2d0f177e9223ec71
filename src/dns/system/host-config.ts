import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { codeOf } from '../../errors.ts';
import type { Clock } from '../../net/time/clock.ts';
import { readHosts, type HostsTable } from './hosts-file.ts';
import { hostSources } from './name-switch.ts';
import { parseResolvConf, type ResolvConf } from './resolv-conf.ts';

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
/** Size in bytes beyond which files are left to the C library. */
export const MAX_CONF_SIZE = 65_536;
const MAX_HOSTS_SIZE = 32 * 1024 * 1024;

/** Addresses of systemd-resolved, which answers over DNS as it does as the source `resolve`. */
export const RESOLVED_STUBS: ReadonlySet<string> = new Set(['127.0.0.53', '127.0.0.54']);

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
      path === undefined
        ? undefined
        : parseResolvConf(await readFile(path, 'utf8'), surroundings()),
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

const surroundings = () => ({
  localDomain: process.env['LOCALDOMAIN'],
  resOptions: process.env['RES_OPTIONS'],
  hostname: hostname(),
});
