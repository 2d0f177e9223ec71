import { lstatSync, statSync, type Stats } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';

/** The directory of control sockets of services. */
export const SERVICE_FOLDER = '/run/weir';

/** Permission bits by which users other than the owner could replace a file. */
const WRITABLE_BY_OTHERS = 0o022;

/** The user's directory for control sockets; `undefined` without a runtime directory. */
export const userFolder = (
  env: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const runtime = env['XDG_RUNTIME_DIR'];
  // The XDG Base Directory Specification has relative paths ignored.
  return runtime?.startsWith('/') === true ? join(runtime, 'weir') : undefined;
};

/** Maximum bytes of the path of a unix socket: `sun_path` of unix(7) without the final null byte. */
const MAX_SOCKET_PATH = 107;

/**
 * The default path of the API's unix socket for a configuration: beside its file, or in the directory of services for a
 * file below /etc, where a service cannot write.
 * @param config absolute path
 * @returns `undefined` where the path would be too long for a socket
 */
export function apiSocketFor(config: string): string | undefined {
  if (config.startsWith('/etc/')) return join(SERVICE_FOLDER, 'api.sock');
  const path = join(dirname(config), `${basename(config, extname(config))}.api.sock`);
  return Buffer.byteLength(path) > MAX_SOCKET_PATH ? undefined : path;
}

/**
 * Why sockets in a directory may not be trusted; `undefined` if they may: it belongs to this user or to root, and no
 * other user can write to it. A symbolic link that belongs to this user or to root may be trusted as well: with
 * DynamicUser= systemd creates one to /run/private.
 * @param isTrusted whether the owner of a file may be trusted
 * @throws the error of the system, such as `ENOENT`
 */
export function problemOfFolder(
  path: string,
  isTrusted: (stats: Stats) => boolean = isOwn,
): string | undefined {
  const found = lstatSync(path);
  const stats = found.isSymbolicLink() && isOwn(found) ? statSync(path) : found;
  if (!stats.isDirectory()) return `${path} is not a folder`;
  if (!isTrusted(stats)) return `${path} belongs to another user`;
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0) return `${path} can be written by others`;
  return undefined;
}

/** Whether a file belongs to this user or to root. */
export const isOwn = ({ uid }: Pick<Stats, 'uid'>): boolean =>
  uid === 0 || uid === process.geteuid?.();
