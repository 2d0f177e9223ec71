import { servesFile } from '../app/control/serves-file.ts';
import { findSocket, liveSockets, namedSocket, type SocketSearch } from './find-socket.ts';

/**
 * The control socket of the running Weir whose outbounds are used: `--socket` or `WEIR_SOCKET`; otherwise that of a
 * process that serves `config`, or the only one if no file is named.
 *
 * @returns `undefined` when there is none
 * @throws {WeirError} when there are several to choose from
 */
export async function chooseSocket(
  search: SocketSearch,
  config: string | undefined,
): Promise<string | undefined> {
  const named = namedSocket(search);
  if (named !== undefined || config === undefined) return named ?? findSocket(search);
  for (const { path, status } of await liveSockets(search)) {
    if (await servesFile(status, config)) return path;
  }
  return undefined;
}
