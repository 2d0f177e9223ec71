import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { requestStatus, type RunningStatus, servesFile, requestReload } from '@weir/server/control';
import {
  isOwn,
  problemOfFolder,
  SERVICE_FOLDER,
  userFolder,
} from '@weir/server/app/control/control-folder';
import { UsageError, WeirError } from '@weir/base';
import { printable } from '@weir/base/printable';
import type { ReloadOutcome } from '@weir/server/app/outcomes';

export interface SocketSearch {
  /** The value of `--socket`. */
  readonly socket: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory of sockets of services; replaced in tests. */
  readonly serviceFolder?: string;
  /** Milliseconds to wait for each process to respond. */
  readonly timeoutMs?: number;
}

/** A process that responds on its control socket. */
interface LiveSocket {
  readonly path: string;
  readonly status: RunningStatus;
}

/** Maximum number of sockets that are tried; a directory may be full of them. */
const MAX_SOCKETS = 64;
/** Maximum number of files and directories that are examined. */
const MAX_ENTRIES = 1024;
/** Default time limit for a process to respond, in milliseconds. */
const RESPONSE_MS = 2_000;

/**
 * The control socket to use: `--socket`, then `WEIR_SOCKET`, neither of which is tried, then the only one with a
 * process among `liveSockets`.
 *
 * @returns `undefined` when there is none
 * @throws {WeirError} `several_sockets`, listing them
 * @throws {UsageError} for an empty `--socket`
 */
export async function findSocket(search: SocketSearch): Promise<string | undefined> {
  const named = namedSocket(search);
  if (named !== undefined) return named;
  const [first, ...others] = await liveSockets(search);
  if (first && others.length > 0) throw severalSockets([first, ...others]);
  return first?.path;
}

/**
 * The control socket as `findSocket` chooses it, for commands that require one.
 * @throws {WeirError} `no_socket` when there is none, and the errors of `findSocket`
 */
export async function needSocket(search: SocketSearch): Promise<string> {
  const found = await findSocket(search);
  if (found !== undefined) return found;
  const { env, serviceFolder = SERVICE_FOLDER } = search;
  const folders = [userFolder(env), serviceFolder].filter((folder) => folder !== undefined);
  throw new WeirError(
    'no_socket',
    `no running Weir has a control socket in ${folders.join(' or ')}`,
    {
      hint: 'name the socket with --socket PATH; a service of another user needs sudo',
    },
  );
}

/** The control socket named by `--socket` or `WEIR_SOCKET`. @throws {UsageError} */
export function namedSocket({ socket, env }: SocketSearch): string | undefined {
  if (socket === '') throw new UsageError('--socket needs the path of a socket');
  return socket ?? (env['WEIR_SOCKET'] || undefined);
}

/**
 * The responding processes with a control socket in `$XDG_RUNTIME_DIR/weir` or `/run/weir`, or one level below.
 * Directories and sockets that another user could have put there are ignored.
 */
export async function liveSockets({
  env,
  serviceFolder = SERVICE_FOLDER,
  timeoutMs = RESPONSE_MS,
}: Omit<SocketSearch, 'socket'>): Promise<readonly LiveSocket[]> {
  const own = userFolder(env);
  const folders =
    own === undefined || own === serviceFolder ? [serviceFolder] : [own, serviceFolder];
  const paths = folders
    .flatMap((folder) =>
      socketsIn(folder, 1, folder === serviceFolder ? trustInServices(folder) : isOwn),
    )
    .slice(0, MAX_SOCKETS);
  const asked = await Promise.all(
    paths.map(async (path): Promise<LiveSocket | undefined> => {
      const status = await requestStatus(path, timeoutMs).catch(() => undefined);
      return status && { path, status };
    }),
  );
  return asked.filter((found) => found !== undefined);
}

type Trust = (stats: Stats) => boolean;

/**
 * The trust in owners of sockets in the directory of services: for root this includes the directory's owner, since only
 * root can have given that directory to a service's user.
 */
function trustInServices(folder: string): Trust {
  if (process.geteuid?.() !== 0) return isOwn;
  const service = statsOf(folder, statSync)?.uid;
  return (stats) => isOwn(stats) || stats.uid === service;
}

/** The trusted sockets of a directory. @param depth levels of directories below it */
function socketsIn(folder: string, depth: number, isTrusted: Trust): readonly string[] {
  const found: string[] = [];
  for (const entry of entriesOf(folder, isTrusted)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) found.push(...socketsIn(path, depth - 1, isTrusted));
    else if (entry.isSocket() && entry.name.endsWith('.sock')) {
      const stats = statsOf(path);
      if (stats && isTrusted(stats)) found.push(path);
    }
  }
  return found;
}

function entriesOf(folder: string, isTrusted: Trust): readonly Dirent[] {
  try {
    if (problemOfFolder(folder, isTrusted) !== undefined) return [];
    return readdirSync(folder, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_ENTRIES);
  } catch {
    return [];
  }
}

function statsOf(path: string, stat: (path: string) => Stats = lstatSync): Stats | undefined {
  try {
    return stat(path);
  } catch {
    return undefined;
  }
}

const severalSockets = (found: readonly LiveSocket[]): WeirError =>
  new WeirError(
    'several_sockets',
    `${found.length} running Weirs have a control socket; choose one with --socket PATH or --config FILE:\n${found.map(line).join('\n')}`,
  );

const line = ({ path, status: { pid, config, started_at: startedAt } }: LiveSocket): string =>
  `  ${printable(path)}  pid ${pid}, ${config === null ? 'the built-in configuration' : printable(config)}, started ${new Date(startedAt).toISOString()}`;

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

/** A running Weir that serves a configuration file. */
export interface Serving {
  /** The path of its control socket. */
  readonly socket: string;
  /**
   * Reloads the configuration.
   *
   * @param cause logged before the reload
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
