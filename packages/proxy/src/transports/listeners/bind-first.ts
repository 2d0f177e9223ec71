import { lookup } from 'node:dns/promises';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { unlessAborted } from '@weir/io/time';
import { BindError } from './bind-error.ts';

/**
 * Binds to the first available address of a host name: resolves the name with the system resolver and tries its
 * addresses in order.
 *
 * @param bind binds to an IP address. @throws {BindError}
 * @param signal aborts the resolution.
 * @throws {BindError} the error of the first address, or the reason why the name has no address.
 * @throws the reason of `signal`.
 */
export async function bindFirst<T>(
  { host, port }: Endpoint,
  bind: (where: Endpoint) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let failure: unknown;
  try {
    const found = lookup(host, { all: true, order: 'verbatim' });
    for (const { address } of await unlessAborted(found, signal)) {
      try {
        return await bind({ host: address, port });
      } catch (error) {
        failure ??= error;
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    failure = error;
  }
  throw failure instanceof BindError
    ? failure
    : new BindError(formatEndpoint({ host, port }), failure);
}
