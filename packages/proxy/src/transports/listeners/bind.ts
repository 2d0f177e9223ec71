import { lookup } from 'node:dns/promises';
import { lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import { unlessAborted } from '@weir/io/time';
import { quoted } from '@weir/base/printable';

/** The failure to bind a listener. */
export class BindError extends WeirError {
  constructor(where: string, cause: unknown) {
    super('bind', `cannot listen on ${where}: ${bindReason(cause)}`, {
      cause,
      hint: bindHint(where, cause),
    });
  }
}

/** Whether an error of `bind` means that the address, the device name or a route of the device is in use. */
export const isInUse = (error: unknown): boolean => {
  const code = error instanceof Error ? codeOf(error.cause) : undefined;
  return code === 'EADDRINUSE' || code === 'EEXIST';
};

/** Ports below this one require a privilege on Unix systems. */
const UNPRIVILEGED = 1024;

/** Returns advice for an address that could not be bound, if any. */
function bindHint(where: string, cause: unknown): string | undefined {
  // A unix socket has no port.
  const port = where.startsWith('/') ? Number.NaN : Number(where.slice(where.lastIndexOf(':') + 1));
  switch (codeOf(cause) ?? '') {
    case 'EACCES':
      if (!(port < UNPRIVILEGED) || process.platform !== 'linux') return undefined;
      return (
        `ports below ${UNPRIVILEGED} need CAP_NET_BIND_SERVICE: in a systemd unit ` +
        'AmbientCapabilities=CAP_NET_BIND_SERVICE, ' +
        `elsewhere \`setcap cap_net_bind_service=+ep ${process.execPath}\`; or ` +
        `lower the limit: \`sysctl net.ipv4.ip_unprivileged_port_start=${port}\``
      );
    case 'EADDRINUSE':
      return Number.isNaN(port)
        ? undefined
        : `\`ss -lntup 'sport = :${port}'\` shows which program has the port`;
    case 'EADDRNOTAVAIL':
      return '`ip address` lists the addresses of this host; 0.0.0.0 or :: stand for all of them';
    default:
      return undefined;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'this host has no such address',
  EACCES: 'permission denied',
};

/** Returns the reason why an address could not be bound, as text. */
export const bindReason = (cause: unknown): string =>
  REASONS[codeOf(cause) ?? ''] ?? messageOf(cause);

/**
 * Binds to the first available address of a host name: resolves the name with the system resolver and tries its
 * addresses in order.
 *
 * @param bind binds to an IP address.
 * @throws {BindError}
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

/** File mode that lets only the owner connect: the listener may serve clients without authentication. */
const PRIVATE = 0o600;

/**
 * Binds a unix socket. A socket file that a dead process left behind is replaced. The error of `bind` is thrown if a
 * process listens on the file, or the file is not a socket.
 *
 * @param bind binds synchronously, so that the file has its permissions from the start
 * @param mode the permissions of the file
 * @throws {WeirError} for an invalid WEIR_SOCKET_MODE.
 */
export async function bindUnixSocket<T>(
  path: string,
  bind: () => Promise<T>,
  mode: number = wantedMode(process.env['WEIR_SOCKET_MODE']),
): Promise<T> {
  const bindWithMode = (): Promise<T> => {
    const before = process.umask(0o777 & ~mode);
    try {
      return bind();
    } finally {
      process.umask(before);
    }
  };
  try {
    return await bindWithMode();
  } catch (error) {
    if (!isAddressInUse(error) || !(await isStaleSocket(path))) throw error;
  }
  unlinkSync(path);
  return bindWithMode();
}

/**
 * Parses WEIR_SOCKET_MODE.
 *
 * @param text an octal mode, as for chmod(1); only the owner may connect if it is empty.
 */
function wantedMode(text = ''): number {
  if (text === '') return PRIVATE;
  if (/^0?[0-7]{3}$/.test(text)) return Number.parseInt(text, 8);
  throw new WeirError(
    'socket_mode',
    `WEIR_SOCKET_MODE=${quoted(text)} is not the permissions of a file: write them in octal, such as 660`,
  );
}

/**
 * Whether an error means that the address is in use; the system's code is on the error itself, or on its cause if
 * `bind` wraps it.
 */
const isAddressInUse = (error: unknown): boolean =>
  codeOf(error) === 'EADDRINUSE' ||
  (error instanceof Error && codeOf(error.cause) === 'EADDRINUSE');

/**
 * Whether a file is a socket on which no process listens. A connection to a file that is not a socket is refused as
 * well, so its type is checked first, on this thread: the first call of Node's thread pool starts 16 threads.
 */
export const isStaleSocket = async (path: string): Promise<boolean> =>
  isSocket(path) && isRefused(path);

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}

async function isRefused(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect(path);
  probe.once('connect', () => resolve(false));
  probe.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'));
  const refused = await promise;
  probe.destroy();
  return refused;
}
