import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { codeOf } from '../errors.ts';

/**
 * Binds a unix socket; a socket file that a dead process left behind is replaced. One that somebody
 * listens on is not, nor is a file that is no socket at all: both keep the error of `bind`.
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

/** The system's code is on the error itself or on its cause, where `bind` wraps what it met. */
const isInUse = (error: unknown): boolean =>
  codeOf(error) === 'EADDRINUSE' ||
  (error instanceof Error && codeOf(error.cause) === 'EADDRINUSE');

/** Connecting to a file that is no socket is refused as well, so its kind is asked first. */
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
