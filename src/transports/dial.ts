import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { connectAny } from '../net/happy-eyeballs.ts';
import type { Carrier } from '../net/link.ts';
import type { FamilyPolicy, Resolver } from '../net/resolver.ts';
import { connectTcp } from '../net/tcp-dial.ts';

export interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whose destination it is; none for a server of the configuration. */
  readonly client?: string | undefined;
}

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races what came back (RFC 8305).
 *
 * @throws {DialError} with the code that tells why it could not.
 */
export async function dialTcp(target: Endpoint, options: TcpDialOptions): Promise<Carrier> {
  const { resolver, family, clock, signal, client } = options;
  const addresses = await resolver.resolve(target.host, family, signal, client);
  return connectAny(
    addresses,
    (address, attempt) => connectTcp(address, target.port, { signal: attempt }),
    { clock, signal, discard: (carrier) => carrier.link.destroy() },
  );
}
