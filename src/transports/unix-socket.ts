import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { codeOf } from '../errors.ts';

/**
 * Binds a unix socket. A socket file that a dead process left behind is replaced; one with a
 * listening process is not, nor is a file that is not a socket: for both the error of `bind` remains.
 */
export async function bindUnixSocket<T>(path: string, bind: () => Promise<T>): Promise<T> {
  try {
    return await bind();
  } catch (error) {
    if (!isInUse(error) || !(await isStale(path))) throw error;
  }
  await unlink(path);
  return bind();
}

/** The system's code is on the error itself, or on its cause where `bind` wraps it. */
const isInUse = (error: unknown): boolean =>
  codeOf(error) === 'EADDRINUSE' ||
  (error instanceof Error && codeOf(error.cause) === 'EADDRINUSE');

/** Connecting to a file that is not a socket is refused as well, so its type is checked first. */
async function isStale(path: string): Promise<boolean> {
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
