import { shownForeign } from '../../net/addresses/shown-address.ts';
import { lookup, type LookupAddress } from 'node:dns';
import { codeOf, messageOf } from '../../errors.ts';
import { abortedDial, DialError } from '../../net/errors.ts';
import type { DnsAnswer, DnsBackend } from '../backend.ts';
import type { AddressRecordType } from '../policy.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';

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
