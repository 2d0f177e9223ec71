import { once } from 'node:events';
import type { Server } from 'node:net';
import { claimPassed, type Claim } from '@weir/io/service';
import { bindUnixSocket } from '@weir/proxy/listeners';

/** The place where a server listens. */
export type BoundPlace =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** Permissions of a socket file through which only the user of the process, and root, can connect. */
export const OWNER_ONLY = 0o600;

/**
 * Binds a server, again after `unbind`. The socket file of an ended process is replaced.
 *
 * @param takesPassed whether a socket of a service manager is used where one was passed for the place
 * @param mode permissions of a socket file
 * @throws the error of the system
 */
export async function bind(
  server: Server,
  place: BoundPlace,
  { takesPassed = false, mode }: { readonly takesPassed?: boolean; readonly mode?: number },
): Promise<void> {
  const where =
    place.kind === 'tcp' ? { host: place.host, port: place.port } : { path: place.path };
  const attempt = async (): Promise<void> => {
    const claim = takesPassed ? claimPassed('stream', where) : undefined;
    server.listen(claim ? { fd: claim.fd } : where);
    try {
      await once(server, 'listening');
    } catch (error) {
      claim?.release();
      throw error;
    }
    if (claim) claims.set(server, claim);
  };
  await (place.kind === 'tcp' ? attempt() : bindUnixSocket(place.path, attempt, mode));
}

/** Stops listening, and frees the address immediately; connections continue. */
export function unbind(server: Server): void {
  server.close();
  claims.get(server)?.release();
  claims.delete(server);
}

/** Claims of servers on sockets passed by a service manager. */
const claims = new WeakMap<Server, Claim>();
