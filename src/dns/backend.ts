import type { AddressType } from './policy.ts';

/** The addresses of one name in one family. */
export interface DnsAnswer {
  /** IP addresses of that family in text; empty when the name has none. */
  readonly addresses: readonly string[];
  /** Seconds for which this may be cached; 0 when it must not be. */
  readonly ttl: number;
  /** The name does not exist, so that it has no address of any family. */
  readonly absent?: boolean;
}

/** A source of addresses below the cache, without memory of its own. */
export interface DnsBackend {
  /**
   * Asks for the addresses of `name`: a valid domain name in lower case, ASCII, without a final
   * dot. A name that does not exist has an answer without addresses.
   *
   * @throws {DialError} `timed_out` when no answer came, `upstream` when the server failed or broke
   *   its protocol, any code of a dial when the server was not reached.
   */
  query(name: string, type: AddressType, signal: AbortSignal): Promise<DnsAnswer>;
  /** Closes connections; called while no question waits. A later one opens them anew. */
  close(): void;
}
