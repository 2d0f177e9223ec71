import { lookup, type LookupAddress } from 'node:dns';
import { codeOf, messageOf } from '../errors.ts';
import { DialError } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import type { AddressType } from './policy.ts';

/** The host's resolver does not tell how long its answers hold. */
const POSITIVE_TTL = 60;
const NEGATIVE_TTL = 5;

/** The part of `node:dns` that is used here; tests put their own in its place. */
export type HostLookup = (
  name: string,
  options: { readonly all: true; readonly verbatim: true; readonly family: 0 | 4 | 6 },
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** One call of the host's resolver, and who waits for which family of its answer. */
interface Pending {
  family: 0 | 4 | 6;
  readonly answer: Promise<readonly LookupAddress[]>;
}

/**
 * The host's own resolver: `/etc/hosts`, `nsswitch.conf` and whatever else getaddrinfo(3) reads.
 *
 * Node runs it on two threads, so A and AAAA that are asked in the same turn share one call. A call
 * cannot be aborted: the question ends when its signal says so, the thread when it is done.
 */
export class SystemBackend implements DnsBackend {
  readonly #lookup: HostLookup;
  readonly #pending = new Map<string, Pending>();

  constructor(hostLookup: HostLookup = lookup) {
    this.#lookup = hostLookup;
  }

  async query(name: string, type: AddressType): Promise<DnsAnswer> {
    const family = type === 'A' ? 4 : 6;
    let found: readonly LookupAddress[];
    try {
      found = await this.#ask(name, family);
    } catch (error) {
      // Node reports "no such name" and "no address of this family" alike.
      if (codeOf(error) !== 'ENOTFOUND') {
        throw new DialError('upstream', `the host's resolver: ${messageOf(error)}`, {
          cause: error,
        });
      }
      found = [];
    }
    const addresses = found.filter((each) => each.family === family).map((each) => each.address);
    return { addresses, ttl: addresses.length > 0 ? POSITIVE_TTL : NEGATIVE_TTL };
  }

  close(): void {
    this.#pending.clear();
  }

  #ask(name: string, family: 4 | 6): Promise<readonly LookupAddress[]> {
    const pending = this.#pending.get(name);
    if (pending) {
      if (pending.family !== family) pending.family = 0;
      return pending.answer;
    }
    const { promise, resolve, reject } = Promise.withResolvers<readonly LookupAddress[]>();
    const started: Pending = { family, answer: promise };
    this.#pending.set(name, started);
    queueMicrotask(() => {
      this.#pending.delete(name);
      const options = { all: true, verbatim: true, family: started.family } as const;
      this.#lookup(name, options, (error, addresses) => {
        if (error) reject(error);
        else resolve(addresses);
      });
    });
    return promise;
  }
}
