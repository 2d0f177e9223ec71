import { requestReload, requestStatus, servesFile } from '@weir/server/control';
import type { ReloadOutcome } from '@weir/server/app/outcomes';
import { WeirError } from '@weir/base';
import { printable } from '@weir/base/printable';
import {
  liveSockets,
  namedSocket,
  needSocket,
  type LiveSocket,
  type SocketSearch,
} from './find-socket.ts';

/** A running Weir that serves a configuration file. */
export interface Serving {
  /** The path of its control socket. */
  readonly socket: string;
  /**
   * Reloads the configuration. @param cause logged before the reload
   * @throws {WeirError} when the outcome is unknown
   */
  reload(cause: string): Promise<ReloadOutcome>;
}

/**
 * The running Weir that serves the file `config`: that of `--socket` or `WEIR_SOCKET`, otherwise the one found that has
 * this file.
 *
 * @returns `undefined` if there is none
 * @throws {WeirError} when the named one does not respond or serves another file, or several serve this one
 * @throws {UsageError} for an empty `--socket`
 */
export async function findServing(
  config: string,
  search: SocketSearch,
): Promise<Serving | undefined> {
  const named = namedSocket(search);
  if (named !== undefined) {
    const status = await requestStatus(named);
    if (await servesFile(status, config)) return servingAt(named);
    const served = status.config ?? 'the built-in configuration';
    throw new WeirError(
      'other_config',
      printable(`the Weir of ${named} serves ${served}, not ${config}; nothing was done`),
    );
  }
  const found: LiveSocket[] = [];
  for (const live of await liveSockets(search)) {
    if (await servesFile(live.status, config)) found.push(live);
  }
  if (found.length > 1) {
    const list = found
      .map(({ path, status }) => `  ${printable(path)}  pid ${status.pid}`)
      .join('\n');
    throw new WeirError(
      'several_sockets',
      `${found.length} running Weirs serve ${printable(config)}; choose one with --socket PATH:\n${list}`,
    );
  }
  return found[0] && servingAt(found[0].path);
}

/**
 * The control socket for commands that only query a process: that of the process that serves `config`, as
 * `findServing`, or without a file as `needSocket`.
 *
 * @throws {WeirError} also when no process serves the file: another process would be the wrong one
 */
export async function needServing({
  config,
  ...search
}: SocketSearch & { readonly config: string | undefined }): Promise<string> {
  if (config === undefined) return needSocket(search);
  const serving = await findServing(config, search);
  if (serving) return serving.socket;
  throw new WeirError(
    'no_socket',
    printable(`no running Weir with a control socket serves ${config}`),
    { hint: 'a service of another user needs sudo; --socket names a socket elsewhere' },
  );
}

const servingAt = (socket: string): Serving => ({
  socket,
  reload: (cause) => requestReload(socket, cause),
});
