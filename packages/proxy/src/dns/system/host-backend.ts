import { lookup, type LookupAddress } from 'node:dns';
import { silentLogger } from '@weir/base/log';
import { ipVersion, shownForeign } from '@weir/io/addresses';
import { type Clock, unlessAborted } from '@weir/io/time';
import { abortedDial, DialError } from '@weir/io';
import { codeOf, messageOf } from '@weir/base';
import type { DnsAnswer, DnsBackend } from '../backend.ts';
import { type HostConfig, HostFiles, type HostPaths, LINUX_PATHS } from './host-config.ts';
import type { RawQuestion } from '../message.ts';
import type { AddressRecordType } from '../policy.ts';
import { type ResolvConf, searchNames } from './system-resolvers.ts';
import { UdpExchange } from '../exchanges/udp-exchange.ts';
import { WireBackend } from '../wire-backend.ts';

const DNS_PORT = 53;

/** Upper limits of TTLs in seconds, so that changes of the host's files take effect soon. */
const MAX_TTL = 60;
const MAX_ABSENT_TTL = 5;
const HOSTS_TTL = 5;

export interface HostBackendOptions {
  readonly clock: Clock;
  /** The paths of the files that are read; only on Linux do they describe all that the C library does. */
  readonly paths?: HostPaths | undefined;
  /** The backend for names that the files do not suffice for. */
  readonly library?: DnsBackend;
  /** The port of the name servers in resolv.conf. */
  readonly port?: number;
}

/**
 * A backend that resolves names as the host is configured to.
 *
 * getaddrinfo(3) cannot be aborted and has few threads, so a few names without an answer delay all
 * others. If the files of the host are configured in the usual way (the hosts file, then the
 * servers of resolv.conf with its search list) this class therefore resolves names itself. The C
 * library is used for names of other sources of nsswitch.conf, and on hosts configured otherwise.
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
    library = new GetaddrinfoBackend(),
    port = DNS_PORT,
  }: HostBackendOptions) {
    this.#files = paths && new HostFiles(clock, paths);
    this.#library = library;
    this.#clock = clock;
    this.#port = port;
  }

  async query(name: string, type: AddressRecordType, signal: AbortSignal): Promise<DnsAnswer> {
    const config = await this.#files?.current();
    if (!config) return this.#library.query(name, type, signal);
    const listed = config.hosts.get(name);
    if (listed) {
      // As in getaddrinfo(3): a listed name without this family has no address of it.
      const version = type === 'A' ? 4 : 6;
      return { addresses: listed.filter((each) => ipVersion(each) === version), ttl: HOSTS_TTL };
    }
    if (belongsElsewhere(name, config)) return this.#library.query(name, type, signal);
    return this.#search(name, type, config.resolv, signal);
  }

  async forward(question: RawQuestion, signal: AbortSignal): Promise<Buffer> {
    const config = await this.#files?.current();
    return (config ? this.#wire(config.resolv) : this.#library).forward(question, signal);
  }

  close(): void {
    this.#library.close();
    this.#servers?.wire.close();
  }

  /** Queries the names of the search list: the first that exists decides; if none does, the first failure. */
  async #search(
    name: string,
    type: AddressRecordType,
    resolv: ResolvConf,
    signal: AbortSignal,
  ): Promise<DnsAnswer> {
    if (resolv.noAaaa && type === 'AAAA') return { addresses: [], ttl: MAX_TTL };
    const wire = this.#wire(resolv);
    const candidates = searchNames(name, resolv);
    let failure: DialError | undefined;
    let ttl = MAX_TTL;
    let absent = true;
    let way: Pick<DnsAnswer, 'aliases'> = {};
    for (const candidate of candidates) {
      try {
        const answer = await wire.query(candidate, type, signal);
        ttl = Math.min(ttl, answer.ttl);
        // Aliases lead from the candidate, which is not the name of the question below a search domain.
        if (candidate === name && answer.aliases) way = { aliases: answer.aliases };
        if (answer.addresses.length > 0)
          return { addresses: answer.addresses, ttl, ...(candidate === name && way) };
        absent &&= answer.absent ?? false;
        if (answer.absent || candidates.length === 1) continue;
        // The name may exist in the other family only: addresses of two hosts must not be mixed.
        const other = await wire.query(candidate, type === 'A' ? 'AAAA' : 'A', signal);
        if (other.addresses.length > 0) return { addresses: [], ttl };
      } catch (error) {
        // A server that does not respond now will not respond for the next name either.
        if (!(error instanceof DialError) || error.code !== 'upstream') throw error;
        failure ??= error;
      }
    }
    if (failure) throw failure;
    return { addresses: [], ttl: absent ? Math.min(ttl, MAX_ABSENT_TTL) : ttl, absent, ...way };
  }

  #wire(resolv: ResolvConf): DnsBackend {
    if (this.#servers?.resolv !== resolv) {
      const { nameservers, rounds, rotate } = resolv;
      const servers = nameservers.map((host) => ({ host, port: this.#port }));
      const exchange = new UdpExchange(servers, this.#clock, { rounds, rotate });
      // Not logged: a name without an answer does not mean that the host's servers fail.
      this.#servers = { resolv, wire: new WireBackend(exchange, silentLogger) };
    }
    return this.#servers.wire;
  }
}

/** Whether a name may belong to a source other than the hosts file and DNS. */
function belongsElsewhere(name: string, { sources, hostname }: HostConfig): boolean {
  // `files` and `dns` are always present.
  if (sources.size === 2) return false;
  return !name.includes('.') || name.endsWith('.local') || name === hostname;
}

/** TTL in seconds of an answer of getaddrinfo(3), which returns none. */
const POSITIVE_TTL = 60;
const NEGATIVE_TTL = 5;

/** The part of `node:dns` that is used here; tests replace it. */
export type HostLookup = (
  name: string,
  options: { readonly all: true; readonly verbatim: true; readonly family: 0 | 4 | 6 },
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** One call of getaddrinfo(3). */
interface Call {
  /** The family; may still change to both until the call starts: questions of one turn share it. */
  family: 0 | 4 | 6;
  /** Number of questions that share the call. */
  waiting: number;
  readonly answer: PromiseWithResolvers<readonly LookupAddress[]>;
}

/**
 * Returns the number of threads on which libuv runs getaddrinfo(3): half of them, rounded up (uv_getaddrinfo, "slow
 * work").
 */
function libuvThreads(): number {
  const size = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  return Math.ceil(Math.min(Math.max(Number.isInteger(size) ? size : 1, 1), 1024) / 2);
}

/**
 * A backend over the C library's resolver, getaddrinfo(3).
 *
 * A call cannot be aborted and occupies its thread until it is done. Calls beyond the threads queue
 * here and not in libuv, so that a call whose questions were all aborted is never made.
 */
export class GetaddrinfoBackend implements DnsBackend {
  readonly #lookup: HostLookup;
  readonly #threads: number;
  /** Queued calls by name, in order of arrival. */
  readonly #queued = new Map<string, Call>();
  readonly #running = new Map<string, Call>();
  #busy = 0;

  constructor(hostLookup: HostLookup = lookup, threads: number = libuvThreads()) {
    this.#lookup = hostLookup;
    this.#threads = threads;
  }

  async query(name: string, type: AddressRecordType, signal?: AbortSignal): Promise<DnsAnswer> {
    const family = type === 'A' ? 4 : 6;
    let found: readonly LookupAddress[];
    try {
      found = await this.#ask(name, family, signal);
    } catch (error) {
      if (error instanceof DialError) throw error;
      // Node does not distinguish "no such name" from "no address of this family".
      if (codeOf(error) !== 'ENOTFOUND') {
        throw new DialError(
          'upstream',
          `the host's resolver: ${shownForeign(messageOf(error), codeOf(error))}`,
          {
            cause: error,
          },
        );
      }
      found = [];
    }
    const addresses = found.filter((each) => each.family === family).map((each) => each.address);
    return { addresses, ttl: addresses.length > 0 ? POSITIVE_TTL : NEGATIVE_TTL };
  }

  forward(): Promise<never> {
    return Promise.reject(
      new DialError('unsupported', "the host's resolver is asked for addresses alone"),
    );
  }

  close(): void {
    // No connection is kept between questions, and a running call cannot be ended.
  }

  async #ask(
    name: string,
    family: 4 | 6,
    signal: AbortSignal | undefined,
  ): Promise<readonly LookupAddress[]> {
    const running = this.#running.get(name);
    const call =
      running && (running.family === 0 || running.family === family)
        ? running
        : this.#enqueue(name, family);
    call.waiting++;
    try {
      return await unlessAborted(call.answer.promise, signal, abortedDial);
    } finally {
      call.waiting--;
      if (call.waiting === 0 && this.#queued.get(name) === call) this.#queued.delete(name);
    }
  }

  #enqueue(name: string, family: 4 | 6): Call {
    const queued = this.#queued.get(name);
    if (queued) {
      if (queued.family !== family) queued.family = 0;
      return queued;
    }
    const call: Call = { family, waiting: 0, answer: Promise.withResolvers() };
    this.#queued.set(name, call);
    // Deferred, so that a question about the other family can join.
    queueMicrotask(() => this.#startNext());
    return call;
  }

  #startNext(): void {
    for (const [name, call] of this.#queued) {
      if (this.#busy >= this.#threads) return;
      this.#queued.delete(name);
      this.#start(name, call);
    }
  }

  #start(name: string, call: Call): void {
    const { family, answer } = call;
    this.#busy++;
    this.#running.set(name, call);
    this.#lookup(name, { all: true, verbatim: true, family }, (error, addresses) => {
      this.#busy--;
      if (this.#running.get(name) === call) this.#running.delete(name);
      if (error) answer.reject(error);
      else answer.resolve(addresses);
      this.#startNext();
    });
  }
}
