import { systemSockets } from '../net/sockets/system-sockets.ts';
import type { Sockets } from '../net/sockets/sockets.ts';

/** Which sockets are in use, and why where these are Node's. */
export const socketsInUse = ({ kind, reason }: Sockets = systemSockets()): string =>
  kind === 'kernel' ? "the kernel's (epoll, splice)" : `Node's (${reason ?? 'no reason'})`;

/** What `--version --verbose` prints below the version, a line each. */
export const howItRuns = (): string =>
  [
    `node ${process.version}, ${process.platform} ${process.arch}, OpenSSL ${process.versions.openssl}`,
    `sockets: ${socketsInUse()}`,
    '',
  ].join('\n');
