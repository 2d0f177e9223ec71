import type { Endpoint } from '../net/addresses/address.ts';
import type { FamilyPolicy, Resolver } from '../net/addresses/resolver.ts';
import type { DialObserver } from '../net/dial-steps.ts';
import type { Carrier } from '../net/links/link.ts';
import { connectAny } from '../net/sockets/happy-eyeballs.ts';
import type { ConnectOptions, DatagramUse } from '../net/sockets/sockets.ts';
import { systemSockets } from '../net/sockets/system-sockets.ts';
import type { Clock } from '../net/time/clock.ts';
import type { Approach } from './dialer.ts';

export interface TcpDialOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with each address before it is tried. @throws {DialError} to reject it. */
  readonly approach?: Approach | undefined;
  /** The address of the requesting client; `undefined` for a server of the configuration. */
  readonly client?: string | undefined;
  readonly observe?: DialObserver | undefined;
  readonly use?: DatagramUse | undefined;
}

/**
 * Opens a TCP connection to a host by name or address: resolves it under the family policy and
 * races the addresses (RFC 8305).
 *
 * @throws {DialError} with the code of the failure.
 */
export function dialTcp(target: Endpoint, options: TcpDialOptions): Promise<Carrier> {
  return raceAddresses(
    target,
    options,
    (address, attempt) => systemSockets().connect(address, attempt),
    ({ link }) => link.destroy(),
  );
}

/** Resolves a host and races its addresses as `dialTcp` does, but calls `connect` to establish each connection. */
export async function raceAddresses<Made>(
  target: Endpoint,
  { resolver, family, clock, signal, approach, client, observe, use }: TcpDialOptions,
  connect: (address: Endpoint, options: ConnectOptions) => Promise<Made>,
  discard: (made: Made) => void,
): Promise<Made> {
  const addresses = await resolver.resolve(target.host, family, signal, client);
  observe?.('resolved');
  const made = await connectAny(
    addresses,
    (host, attempt) => {
      const address = { host, port: target.port };
      return connect(address, { signal: attempt, onSocket: approach?.(address), use });
    },
    { clock, signal, discard },
  );
  observe?.('connected');
  return made;
}
