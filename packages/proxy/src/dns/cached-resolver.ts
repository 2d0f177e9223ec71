import {
  shownForeign,
  shownHost,
  ipVersion,
  normalizeHost,
  isLocalhost,
  type FamilyPolicy,
  type Resolver,
} from '@weir/io/addresses';
import { LRUCache } from 'lru-cache';
import { type Clock, type Timer, resumedInTurns, unlessAborted, Deadline } from '@weir/io/time';
import { dropStacks } from '@weir/base';
import { abortedDial, DialError } from '@weir/io';
import type { DnsAnswer, DnsBackend, DnsService } from './backend.ts';
import type { RawQuestion } from './message.ts';
import { addressWord, orderAddresses, wantedTypes, type AddressRecordType } from './policy.ts';
import {
  Questions,
  type KeptAnswer,
  type QuestionOutcome,
  type PendingQuestion,
} from './questions.ts';
import { RateLimit } from '@weir/io/pace';
import { Shares } from '@weir/io/bounds';
import { DISPLACED_A_SECOND, MAX_FORWARDED } from './limits.ts';

/** Names in the cache; beyond this number the least recently used one is dropped. */
const MAX_NAMES = 4096;
/** Failures in the cache; kept, since a burst of flows must not repeat a failed question (RFC 9520 §3.2). */
const MAX_FAILURES = 1024;
const FAILURE_MS = 5000;
/** Addresses of one family and name that are dialled. */
const MAX_DIALLED = 16;
/** Addresses and aliases in the cache, some 100 bytes each. */
const MAX_RECORDS = 131_072;
/** The largest TTL of an answer, in seconds. */
const MAX_POSITIVE_TTL = 24 * 60 * 60;
const MAX_NEGATIVE_TTL = 5 * 60;
/** Milliseconds that addresses of one family wait for those of the other (RFC 8305 §3). */
const RESOLUTION_DELAY_MS = 50;
/** Milliseconds of that wait when the policy prefers the family that is late. */
const PREFERENCE_DELAY_MS = 2000;

/** The answers for one name, a slot for each family. */
interface CachedName {
  readonly A: KeptAnswer | undefined;
  readonly AAAA: KeptAnswer | undefined;
}

const recordsOf = (answer: KeptAnswer | undefined): number =>
  answer ? answer.all.length + (answer.aliases?.length ?? 0) : 0;

/** A failed question, which is not repeated before `expires`. */
interface KeptFailure {
  readonly error: DialError;
  /** Time at which the failure expires, on the monotonic clock in milliseconds. */
  readonly expires: number;
}

const LOCALHOST: Readonly<Record<AddressRecordType, readonly string[]>> = {
  A: ['127.0.0.1'],
  AAAA: ['::1'],
};

/** A resolver that its owner closes. */
export interface OwnedResolver extends Resolver, DnsService {
  /**
   * Closes the backend's connections once pending questions have ended. Later questions are still answered, so that a
   * resolver can be replaced while flows are being dialled.
   */
  close(): void;
  /** Aborts pending questions and closes the backend's connections. */
  destroy(): void;
}

/**
 * A resolver that answers from the cache as long as the TTL of an answer allows, otherwise by a backend.
 *
 * Absent names are cached as well (RFC 2308), failures for 5 s (RFC 9520). Identical questions share
 * one query, which is aborted when the last flow waiting for it has left. Both families are asked
 * in parallel, and addresses of one wait at most 50 ms for those of the other, 2 s when the policy
 * prefers the other.
 */
export class CachedResolver implements OwnedResolver {
  readonly #backend: DnsBackend;
  readonly #clock: Clock;
  // Expiry is checked here: in the cache `ttl: 0` means no limit, and a name has two TTLs.
  readonly #names = new LRUCache<string, CachedName>({
    max: MAX_NAMES,
    maxSize: MAX_RECORDS,
    sizeCalculation: ({ A, AAAA }) => 1 + recordsOf(A) + recordsOf(AAAA),
  });
  readonly #failures = new LRUCache<string, KeptFailure>({ max: MAX_FAILURES });
  readonly #questions: Questions;
  readonly #forwarding: Forwarding;
  #closed = false;

  constructor(backend: DnsBackend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
    this.#forwarding = new Forwarding(backend, clock, () => this.#closeIfIdle());
    this.#questions = new Questions(backend, clock, {
      answered: (name, type, answer) => this.#keep(name, type, answer),
      failed: (name, type, error) => this.#keepFailure(name, type, error),
      idle: () => {
        this.#closeIfIdle();
      },
    });
  }

  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]> {
    const types = wantedTypes(policy);
    // Only canonical names are cached, so a name that is found needs no check.
    const cached = this.#cached(host, types);
    if (cached) return finish(host, policy, cached.A?.addresses, cached.AAAA?.addresses);
    const name = normalizeHost(host);
    if (name === undefined) {
      return Promise.reject(
        new DialError(
          'not_found',
          `${shownForeign(JSON.stringify(host.slice(0, 256)))} is not a host name`,
        ),
      );
    }
    // The policy is one for names.
    if (ipVersion(name) !== 0) return Promise.resolve([name]);
    if (isLocalhost(name)) return this.#local(policy);
    if (signal?.aborted) return Promise.reject(abortedDial(signal));
    return this.#ask(name, policy, types, signal, client);
  }

  async lookup(
    name: string,
    type: AddressRecordType,
    signal?: AbortSignal,
    client?: string,
  ): Promise<DnsAnswer> {
    if (isLocalhost(name)) return { addresses: LOCALHOST[type], ttl: MAX_NEGATIVE_TTL };
    if (signal?.aborted) throw abortedDial(signal);
    const question = this.#outcome(name, type, client);
    try {
      const outcome = await unlessAborted(resumedInTurns(question.outcome), signal, abortedDial);
      if (outcome.error) throw outcome.error;
      const { all: addresses, aliases, absent, expires } = outcome;
      const ttl = Math.max(0, Math.ceil((expires - this.#clock.now()) / 1000));
      return { addresses, absent, ttl, ...(aliases && { aliases }) };
    } catch (error) {
      if (signal?.aborted) question.leave();
      throw error;
    }
  }

  forward(question: RawQuestion, signal?: AbortSignal, client = ''): Promise<Buffer> {
    return this.#forwarding.ask(question, client, signal);
  }

  close(): void {
    this.#closed = true;
    this.#closeIfIdle();
  }

  destroy(): void {
    this.#questions.abort(new DialError('aborted', 'the resolver was closed'));
    this.#names.clear();
    this.#failures.clear();
    this.#backend.close();
  }

  #closeIfIdle(): void {
    if (this.#closed && this.#questions.size === 0 && this.#forwarding.size === 0) {
      this.#backend.close();
    }
  }

  #local(policy: FamilyPolicy): Promise<readonly string[]> {
    return Promise.resolve(orderAddresses(policy, LOCALHOST.A, LOCALHOST.AAAA));
  }

  /** Returns the name's entry when it holds every wanted family. */
  #cached(name: string, types: readonly AddressRecordType[]): CachedName | undefined {
    const known = this.#names.get(name);
    if (!known) return undefined;
    const now = this.#clock.now();
    for (const type of types) {
      const answer = known[type];
      if (!answer || answer.expires <= now) return undefined;
    }
    return known;
  }

  async #ask(
    name: string,
    policy: FamilyPolicy,
    types: readonly AddressRecordType[],
    signal: AbortSignal | undefined,
    client: string | undefined,
  ): Promise<readonly string[]> {
    const asked = types.map((type) => this.#outcome(name, type, client));
    const [preferred, other] = asked.map(({ outcome }) => outcome);
    if (!preferred) throw new DialError('not_found', `no address of ${shownHost(name)} is allowed`);
    const outcomes = other
      ? gather(preferred, other, policy, this.#clock)
      : preferred.then((outcome) => [outcome]);
    try {
      return await this.#addressesOf(
        name,
        policy,
        types,
        await unlessAborted(resumedInTurns(outcomes), signal, abortedDial),
      );
    } catch (error) {
      if (signal?.aborted) for (const each of asked) each.leave();
      throw error;
    }
  }

  #addressesOf(
    name: string,
    policy: FamilyPolicy,
    types: readonly AddressRecordType[],
    outcomes: readonly (QuestionOutcome | undefined)[],
  ): Promise<readonly string[]> {
    const found = (type: AddressRecordType): readonly string[] | undefined =>
      outcomes[types.indexOf(type)]?.addresses;
    const ipv4 = found('A') ?? [];
    const ipv6 = found('AAAA') ?? [];
    if (ipv4.length + ipv6.length === 0) {
      // The absence of addresses is certain only when every question was answered.
      const failed = outcomes.find((outcome) => outcome?.error);
      if (failed?.error) return Promise.reject(failed.error);
    }
    return finish(name, policy, ipv4, ipv6);
  }

  /** Returns the outcome of a question: from the cache, otherwise from a pending question, otherwise from a new one. */
  #outcome(name: string, type: AddressRecordType, client: string | undefined): PendingQuestion {
    const now = this.#clock.now();
    const known = this.#names.get(name)?.[type];
    if (known && known.expires > now) return settled(known);
    const failure = this.#failures.get(`${type} ${name}`);
    if (failure && failure.expires > now) return settled(failure);
    return this.#questions.ask(name, type, client);
  }

  #keep(name: string, type: AddressRecordType, answer: DnsAnswer): KeptAnswer {
    const { addresses: all, aliases } = answer;
    const addresses = all.length > MAX_DIALLED ? all.slice(0, MAX_DIALLED) : all;
    const ttl = Math.min(answer.ttl, addresses.length > 0 ? MAX_POSITIVE_TTL : MAX_NEGATIVE_TTL);
    const expires = this.#clock.now() + ttl * 1000;
    const kept: KeptAnswer = { addresses, all, aliases, absent: answer.absent ?? false, expires };
    if (ttl > 0) {
      const { A, AAAA } = this.#names.get(name) ?? { A: undefined, AAAA: undefined };
      this.#names.set(name, type === 'A' ? { A: kept, AAAA } : { A, AAAA: kept });
    }
    return kept;
  }

  #keepFailure(name: string, type: AddressRecordType, error: DialError): void {
    dropStacks(error);
    this.#failures.set(`${type} ${name}`, { error, expires: this.#clock.now() + FAILURE_MS });
  }
}

/** Returns a question whose outcome is already known. */
const settled = (outcome: QuestionOutcome): PendingQuestion => ({
  outcome: Promise.resolve(outcome),
  leave: () => undefined,
});

function finish(
  name: string,
  policy: FamilyPolicy,
  ipv4: readonly string[] = [],
  ipv6: readonly string[] = [],
): Promise<readonly string[]> {
  const addresses = orderAddresses(policy, ipv4, ipv6);
  if (addresses.length > 0) return Promise.resolve(addresses);
  return Promise.reject(
    new DialError('not_found', `${shownHost(name)} has no ${addressWord(policy)}`),
  );
}

/** Waits for both outcomes; or for the first that has addresses, with the other if it came before the delay ended. */
function gather(
  preferred: Promise<QuestionOutcome>,
  other: Promise<QuestionOutcome>,
  policy: FamilyPolicy,
  clock: Clock,
): Promise<readonly (QuestionOutcome | undefined)[]> {
  const { promise, resolve } = Promise.withResolvers<readonly (QuestionOutcome | undefined)[]>();
  const outcomes: [QuestionOutcome | undefined, QuestionOutcome | undefined] = [
    undefined,
    undefined,
  ];
  let timer: Timer | undefined;
  const arrived = (slot: 0 | 1, outcome: QuestionOutcome): void => {
    outcomes[slot] = outcome;
    if (outcomes[0] && outcomes[1]) {
      timer?.cancel();
      resolve(outcomes);
    } else if (outcome.addresses?.length) {
      const patient = slot === 1 && policy !== 'auto';
      const delay = patient ? PREFERENCE_DELAY_MS : RESOLUTION_DELAY_MS;
      timer = clock.after(delay, () => resolve(outcomes));
    }
  };
  void preferred.then((outcome) => arrived(0, outcome));
  void other.then((outcome) => arrived(1, outcome));
  return promise;
}

/** Milliseconds for one question, all attempts together. */
const FORWARD_MS = 10_000;

/**
 * Questions forwarded to a backend unchanged, bounded in number. Unanswered questions of one client do
 * not keep other clients, or other programs at the same address, from asking.
 */
class Forwarding {
  readonly #backend: Pick<DnsBackend, 'forward'>;
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  readonly #pending = new Shares<Deadline, string>();
  readonly #displaced = new RateLimit(DISPLACED_A_SECOND);

  /** @param onIdle called when no question remains. */
  constructor(backend: Pick<DnsBackend, 'forward'>, clock: Clock, onIdle: () => void) {
    this.#backend = backend;
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  get size(): number {
    return this.#pending.size;
  }

  /**
   * Asks a question.
   *
   * @param client the address of the client; '' if it has none.
   * @throws {DialError} as `DnsBackend.forward` does; `failed` when another question displaced it, or
   *   too many questions are pending.
   */
  async ask(question: RawQuestion, client: string, signal?: AbortSignal): Promise<Buffer> {
    if (this.size >= MAX_FORWARDED) this.#displace();
    using deadline = new Deadline(this.#clock, FORWARD_MS, 'the DNS question', signal);
    this.#pending.add(deadline, client);
    try {
      const reply = this.#backend.forward(question, deadline.signal);
      return await unlessAborted(reply, deadline.signal, abortedDial);
    } finally {
      this.#pending.delete(deadline);
      if (this.size === 0) this.#onIdle();
    }
  }

  #displace(): void {
    const victim = this.#pending.heaviest?.oldest;
    const failure = new DialError('failed', 'too many questions are being passed on');
    if (victim === undefined || !this.#displaced.take(this.#clock.now())) throw failure;
    this.#pending.delete(victim);
    victim.abort(failure);
  }
}
