import { silentLogger } from '../log/output.ts';
import { ipVersion } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { DialError } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import { HostFiles, LINUX_PATHS, type HostConfig, type HostPaths } from './host-files.ts';
import type { AddressType } from './policy.ts';
import { searchNames, type ResolvConf } from './resolv-conf.ts';
import { SystemBackend } from './system-backend.ts';
import { UdpExchange } from './udp-exchange.ts';
import { WireBackend } from './wire-backend.ts';

const DNS_PORT = 53;

/** Longest times in seconds that answers are kept, so that changes of the host's files count soon. */
const MAX_TTL = 60;
const MAX_ABSENT_TTL = 5;
const HOSTS_TTL = 5;

export interface HostBackendOptions {
  readonly clock: Clock;
  /** The files that are read; only those of Linux say all that its C library goes by. */
  readonly paths?: HostPaths | undefined;
  /** The C library's resolver. */
  readonly library?: DnsBackend;
  /** Of the name servers in resolv.conf. */
  readonly port?: number;
}

/**
 * The host's own resolver, which one name that gets no answer cannot hold up.
 *
 * getaddrinfo(3) cannot be aborted and has few threads, so that a few such names delay all others.
 * What the files of the host describe in the usual way (the hosts file, then the servers of
 * resolv.conf with its search list) is therefore asked here; the C library is left with names that
 * other sources of nsswitch.conf answer for, and with hosts whose files say anything unusual.
 */
export class HostBackend implements DnsBackend {
  readonly #files: HostFiles | undefined;
  readonly #library: DnsBackend;
  readonly #clock: Clock;
  readonly #port: number;
  #servers: { readonly resolv: ResolvConf; readonly wire: DnsBackend } | undefined;

  constructor({
    clock,
    paths = process.platform === 'linux' ? LINUX_PATHS : undefined,
    library = new SystemBackend(),
    port = DNS_PORT,
  }: HostBackendOptions) {
    this.#files = paths && new HostFiles(clock, paths);
    this.#library = library;
    this.#clock = clock;
    this.#port = port;
  }

  async query(name: string, type: AddressType, signal: AbortSignal): Promise<DnsAnswer> {
    const config = await this.#files?.current();
    if (!config) return this.#library.query(name, type, signal);
    const listed = config.hosts.get(name);
    if (listed) {
      // As getaddrinfo(3) does: a listed name without this family has no address of it.
      const version = type === 'A' ? 4 : 6;
      return { addresses: listed.filter((each) => ipVersion(each) === version), ttl: HOSTS_TTL };
    }
    if (belongsElsewhere(name, config)) return this.#library.query(name, type, signal);
    return this.#search(name, type, config.resolv, signal);
  }

  close(): void {
    this.#library.close();
    this.#servers?.wire.close();
  }

  /** The first name of the search list that exists decides; a failure does when none does. */
  async #search(
    name: string,
    type: AddressType,
    resolv: ResolvConf,
    signal: AbortSignal,
  ): Promise<DnsAnswer> {
    if (resolv.noAaaa && type === 'AAAA') return { addresses: [], ttl: MAX_TTL };
    const wire = this.#wire(resolv);
    const candidates = searchNames(name, resolv);
    let failure: DialError | undefined;
    let ttl = MAX_TTL;
    let absent = true;
    for (const candidate of candidates) {
      try {
        const answer = await wire.query(candidate, type, signal);
        ttl = Math.min(ttl, answer.ttl);
        if (answer.addresses.length > 0) return { addresses: answer.addresses, ttl };
        absent &&= answer.absent ?? false;
        if (answer.absent || candidates.length === 1) continue;
        // The other family may live here: addresses of two hosts must not be mixed.
        const other = await wire.query(candidate, type === 'A' ? 'AAAA' : 'A', signal);
        if (other.addresses.length > 0) return { addresses: [], ttl };
      } catch (error) {
        // A server that does not answer now will not for the next name either.
        if (!(error instanceof DialError) || error.code !== 'upstream') throw error;
        failure ??= error;
      }
    }
    if (failure) throw failure;
    return { addresses: [], ttl: absent ? Math.min(ttl, MAX_ABSENT_TTL) : ttl, absent };
  }

  #wire(resolv: ResolvConf): DnsBackend {
    if (this.#servers?.resolv !== resolv) {
      const { nameservers, rounds, rotate } = resolv;
      const servers = nameservers.map((host) => ({ host, port: this.#port }));
      const exchange = new UdpExchange(servers, this.#clock, { rounds, rotate });
      // The host's servers were never watched here, and one name without an answer says little.
      this.#servers = { resolv, wire: new WireBackend(exchange, silentLogger) };
    }
    return this.#servers.wire;
  }
}

/** Whether a source other than the hosts file and DNS may answer for this name. */
function belongsElsewhere(name: string, { sources, hostname }: HostConfig): boolean {
  // `files` and `dns` are always there.
  if (sources.size === 2) return false;
  return !name.includes('.') || name.endsWith('.local') || name === hostname;
}
