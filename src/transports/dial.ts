import type { Endpoint } from '../net/address.ts';
import type { Clock } from '../net/clock.ts';
import { connectAny } from '../net/happy-eyeballs.ts';
import type { Carrier } from '../net/link.ts';
import type { FamilyPolicy, Resolver } from '../net/resolver.ts';
import type { SocketObserver } from '../net/own-listeners.ts';
import { connectTcp } from '../net/tcp-dial.ts';

export interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Judges each address before it is tried. @throws {DialError} */
  readonly approach?: Approach | undefined;
  /** The address of the client whose destination it is; none for a server of the configuration. */
  readonly client?: string | undefined;
}

/** What is asked before a connection to an IP address is made. */
export type Approach = (address: Endpoint) => SocketObserver | undefined;

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races what came back (RFC 8305).
 *
 * @throws {DialError} with the code that tells why it could not.
 */
export async function dialTcp(target: Endpoint, options: TcpDialOptions): Promise<Carrier> {
  const { resolver, family, clock, signal, approach, client } = options;
  const addresses = await resolver.resolve(target.host, family, signal, client);
  return connectAny(
    addresses,
    (address, attempt) => {
      const onSocket = approach?.({ host: address, port: target.port });
      return connectTcp(address, target.port, { signal: attempt, onSocket });
    },
    { clock, signal, discard: (carrier) => carrier.link.destroy() },
  );
}
