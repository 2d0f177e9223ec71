import type { RawQuestion } from './message.ts';
import type { AddressRecordType } from './policy.ts';

/** The addresses of one name in one family. */
export interface DnsAnswer {
  /** IP addresses of that family in text; empty when the name has none. */
  readonly addresses: readonly string[];
  /** Seconds for which the answer may be cached; 0 when it must not be. */
  readonly ttl: number;
  /** The targets of the aliases (CNAME) followed, in order, the owner of the addresses last; none when left out. */
  readonly aliases?: readonly string[];
  /** Whether the name does not exist, so that it has no address of any family. */
  readonly absent?: boolean;
}

/** A source of answers below the cache. Stores no answers itself. */
export interface DnsBackend {
  /**
   * Queries the addresses of `name`: a valid domain name in lower case, ASCII, without a final dot. A name that does
   * not exist has an answer without addresses.
   *
   * @throws {DialError} `timed_out` without an answer, `upstream` when the server failed or violated the protocol, any
   * code of a dial when the server was not reached.
   */
  query(name: string, type: AddressRecordType, signal: AbortSignal): Promise<DnsAnswer>;
  /**
   * Forwards a question of any type.
   *
   * @returns the server's message, whatever its response code.
   * @throws {DialError} as `query` does; `unsupported` if only addresses can be queried.
   */
  forward(question: RawQuestion, signal: AbortSignal): Promise<Buffer>;
  /** Closes connections; called while no question is pending. Later questions open them again. */
  close(): void;
}

/** Answers queries of the clients of a DNS server, from the cache if possible. */
export interface DnsService {
  /**
   * Returns the addresses of a name in one family, with the seconds for which they may be cached.
   *
   * @param name the name in the form that `normalizeHost` returns.
   * @param client the IP address of the client that asks; see `Resolver.resolve`.
   * @throws {DialError} as `DnsBackend.query` does.
   */
  lookup(
    name: string,
    type: AddressRecordType,
    signal?: AbortSignal,
    client?: string,
  ): Promise<DnsAnswer>;
  /**
   * Forwards a question of any type; see `DnsBackend.forward`.
   *
   * @param client the IP address of the client that asks, for its share of the questions.
   * @throws {DialError} as `DnsBackend.forward` does; `failed` when too many are pending.
   */
  forward(question: RawQuestion, signal?: AbortSignal, client?: string): Promise<Buffer>;
}
