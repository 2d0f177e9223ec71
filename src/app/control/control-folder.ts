import { lstatSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/** The folder of services. */
export const SERVICE_FOLDER = '/run/weir';

/** Permission bits by which others than the owner could replace a file. */
const WRITABLE_BY_OTHERS = 0o022;

/** The user's folder for control sockets; `undefined` without a runtime folder. */
export const userFolder = (
  env: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const runtime = env['XDG_RUNTIME_DIR'];
  // The XDG Base Directory Specification: a relative path is to be ignored.
  return runtime?.startsWith('/') === true ? join(runtime, 'weir') : undefined;
};

/**
 * Why sockets in a folder may not be trusted; `undefined` if they may: it belongs to this user or to root,
 * and nobody else can put files into it. A link to one of theirs is as good: with DynamicUser= systemd makes one to
 * /run/private.
 *
 * @param isTrusted whether the owner of a file may be trusted
 * @throws the error of the system, `ENOENT` above all
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
