import { OWNED, type ByteLink } from '../../../src/net/links/link.ts';
import { KernelLink } from '../../../src/net/sockets/kernel/kernel-link.ts';

/**
 * The relay as it is to be with kernel links: a link that can move the rest by itself does so, and
 * what is counted, half-closed and destroyed stays here.
 *
 * @returns the failure, or `undefined` after a clean end.
 */
export async function pouringRelay(
  client: ByteLink,
  remote: ByteLink,
  moved: (bytes: number) => void = () => undefined,
): Promise<Error | undefined> {
  let failure: Error | undefined;
  const abort = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    client.destroy(failure);
    remote.destroy(failure);
  };
  const watch = (cause: Error | undefined): void => {
    if (cause) abort(cause);
  };
  void client.closed.then(watch);
  void remote.closed.then(watch);
  const settle = (direction: Promise<void>): Promise<void> =>
    direction.then(() => undefined, abort);
  await Promise.all([settle(move(client, remote, moved)), settle(move(remote, client, moved))]);
  client.destroy();
  remote.destroy();
  return failure;
}

async function move(from: ByteLink, to: ByteLink, moved: (bytes: number) => void): Promise<void> {
  const poured = from instanceof KernelLink ? from.pourInto(to, moved) : undefined;
  if (poured) await poured;
  else {
    for (let chunk = await from.read(); chunk; chunk = await from.read()) {
      const { length } = chunk;
      const full = to.write(chunk, OWNED);
      if (full) await full;
      moved(length);
    }
  }
  await to.closeWrite();
}
