import { codeOf, messageOf, WeirError } from '@weir/base';

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
