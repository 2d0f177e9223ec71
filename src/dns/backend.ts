import type { AddressType } from './policy.ts';

/** What a source of names says about one name and one family. */
export interface DnsAnswer {
  /** IP addresses of the asked family in text; none when the name has none. */
  readonly addresses: readonly string[];
  /** Seconds for which this may be kept; 0 when it must not be. */
  readonly ttl: number;
  /** The name does not exist, so that it has no address of any family. */
  readonly absent?: boolean;
}

/** A source of names below the cache: asks, keeps nothing. */
export interface DnsBackend {
  /**
   * Asks for the addresses of `name`: a valid domain name in lower case, ASCII, without a final
   * dot. A name that does not exist is an answer without addresses.
   *
   * @throws {DialError} `timed_out` when no answer came, `upstream` when the server failed or broke
   *   its protocol, any code of a dial when the server was not reached.
   */
  query(name: string, type: AddressType, signal: AbortSignal): Promise<DnsAnswer>;
  /** Closes connections while no question waits. A later one opens them anew. */
  close(): void;
}
