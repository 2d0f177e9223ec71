import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { codeOf, WeirError } from '@weir/base';
import { quoted } from '@weir/base/printable';

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
    if (!isInUse(error) || !(await isStaleSocket(path))) throw error;
  }
  await unlink(path);
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
const isInUse = (error: unknown): boolean =>
  codeOf(error) === 'EADDRINUSE' ||
  (error instanceof Error && codeOf(error.cause) === 'EADDRINUSE');

/**
 * Whether a file is a socket on which no process listens. A connection to a file that is not a socket is refused as
 * well, so its type is checked first.
 */
export async function isStaleSocket(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSocket() === true && (await isRefused(path));
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
