import { datedNode, securityOf, buildText, ownBuild } from '@weir/io/process';
import { systemSockets, type Sockets } from '@weir/io/sockets';

/** The kind of sockets in use, with the reason if they are Node's. */
export const socketsInUse = ({ kind, reason }: Sockets = systemSockets()): string =>
  kind === 'kernel' ? "the kernel's (epoll, splice)" : `Node's (${reason ?? 'no reason'})`;

/** The lines that `--version --verbose` prints below the version. */
export const howItRuns = (build = ownBuild()): string => {
  const commit = build ? buildText(build) : 'not known';
  return [
    `commit: ${commit}`,
    `node v${datedNode(process.versions.node)}, ${process.platform} ${process.arch}, OpenSSL ${process.versions.openssl}`,
    `sockets: ${socketsInUse()}`,
    securityOf(process.versions.node),
    '',
  ].join('\n');
};
