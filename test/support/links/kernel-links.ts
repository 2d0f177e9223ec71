import {
  connectKernel,
  listenKernel,
} from '../../../packages/io/src/net/sockets/kernel/kernel-dial.ts';
import { KernelLink } from '../../../packages/io/src/net/sockets/kernel/kernel-link.ts';
import type { LinkWatchdog } from '../../../packages/io/src/net/sockets/kernel/watchdog.ts';
import type { AcceptedConnection } from '@weir/io/sockets';
import type { KernelIo } from '../../../packages/io/src/platform/sockets/kernel-io.ts';

/** Two ends of one TCP connection, both kernel links. */
export async function kernelPair(
  io: KernelIo,
  watchdog?: LinkWatchdog,
): Promise<readonly [KernelLink, KernelLink]> {
  const accepted = Promise.withResolvers<AcceptedConnection>();
  const listener = listenKernel(
    io,
    { host: '127.0.0.1', port: 0 },
    { onConnection: accepted.resolve },
    watchdog,
  );
  const { signal } = new AbortController();
  const port = listener.endpoint?.port ?? 0;
  const near = await connectKernel(io, '127.0.0.1', port, { signal, watchdog });
  const far = (await accepted.promise).link();
  listener.close();
  if (!(near.link instanceof KernelLink && far instanceof KernelLink)) {
    throw new Error('not kernel links');
  }
  return [near.link, far];
}
