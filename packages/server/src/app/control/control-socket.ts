import { mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { codeOf, WeirError } from '@weir/base';
import { bindReason, isStaleSocket } from '@weir/proxy/listeners';
import { bind, OWNER_ONLY } from '../../local-http/bind.ts';
import { problemOfFolder, SERVICE_FOLDER, userFolder } from './control-folder.ts';
import { MAX_REQUEST, REQUEST_MS, type ControlHandlers } from './control-handlers.ts';

/** Maximum number of clients, most of which may have tunnels; their reloads are serialised. */
const MAX_CLIENTS = 160;

const LINE_FEED = 0x0a;
/** Ends of the first line of HTTP; no other request has them. */
const HTTP_ENDS = [' HTTP/1.1\r', ' HTTP/1.0\r'] as const;

/**
 * The unix socket for querying and controlling a running Weir without an `[api]`. `weir reload`, `weir log-level`,
 * `weir log` and `weir status` use it, and commands that fetch through an outbound. Only the user of the process and
 * root can connect.
 *
 * It speaks HTTP, and the lines of commands of 2.1.0 and before. What serves either is imported with its first client.
 */
export class ControlSocket {
  readonly path: string;
  readonly #server: Server;
  readonly #handlers: ControlHandlers;
  readonly #clients = new Set<Socket>();

  private constructor(path: string, handlers: ControlHandlers) {
    this.path = path;
    this.#handlers = handlers;
    // A client may half-close after its request, and a flow may be half-closed.
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      this.#clients.add(client);
      client.once('close', () => this.#clients.delete(client));
      this.#readLine(client);
    });
    this.#server.maxConnections = MAX_CLIENTS;
  }

  /**
   * Binds and serves. The socket file of an ended process is replaced.
   * @throws {WeirError} with the reason
   */
  static async open(path: string, handlers: ControlHandlers): Promise<ControlSocket> {
    const socket = new ControlSocket(path, handlers);
    const server = socket.#server;
    try {
      await bind(server, { kind: 'unix', path }, { mode: OWNER_ONLY });
    } catch (error) {
      server.close();
      throw new WeirError('bind', `control socket ${path}: ${bindReason(error)}`, { cause: error });
    }
    server.on('error', () => undefined); // a failed accept loses one client
    return socket;
  }

  /** Stops accepting clients, disconnects the current ones but those that follow the usage, and removes the socket file. */
  close(): void {
    this.#server.close();
    for (const client of this.#clients) {
      if (!this.#handlers.followsUsage(client)) client.destroy();
    }
  }

  /** Reads the first line of a client; a client that sends none in time, or a long one, is disconnected. */
  #readLine(client: Socket): void {
    let read: Buffer = Buffer.alloc(0);
    client.on('error', () => undefined);
    client.setTimeout(REQUEST_MS, () => client.destroy());
    const onData = (chunk: Buffer): void => {
      read = read.length === 0 ? chunk : Buffer.concat([read, chunk]);
      const end = read.indexOf(LINE_FEED);
      if (end < 0 ? read.length >= MAX_REQUEST : end >= MAX_REQUEST) client.destroy();
      if (end < 0 || client.destroyed) return;
      client.off('data', onData).off('end', onEnd).pause();
      this.#serve(read, end, client).catch(() => client.destroy());
    };
    const onEnd = (): void => void client.destroy();
    client.on('data', onData).on('end', onEnd);
  }

  /** @param end offset of the end of the first line in `read` */
  async #serve(read: Buffer, end: number, client: Socket): Promise<void> {
    const line = read.subarray(0, end).toString();
    if (HTTP_ENDS.some((mark) => line.endsWith(mark))) {
      const { serveHttp } = await import('./control-http.ts');
      await serveHttp(read, client, this.#handlers);
      return;
    }
    const { serveLine } = await import('./control-lines.ts');
    serveLine(line, read.subarray(end + 1), client, this.#handlers);
  }
}

/** Only the owner may access a directory of control sockets. */
const PRIVATE_FOLDER = 0o700;

/** Maximum number of stale socket files that one start removes. */
const MAX_REMOVED = 64;

export interface DefaultPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** The directory of services; replaced in tests. */
  readonly serviceFolder?: string;
}

/**
 * Opens the control socket `PID.sock` in `$XDG_RUNTIME_DIR/weir`, or without that variable in `/run/weir`, and removes
 * stale ones there. Creates the directory where it is missing.
 * @throws {WeirError} when other users could write to the directory, or the socket cannot be bound
 * @throws the error of the system for a directory that cannot be created
 */
export async function openDefaultSocket(
  handlers: ControlHandlers,
  { env, pid, serviceFolder = SERVICE_FOLDER }: DefaultPlace,
): Promise<ControlSocket> {
  const folder = userFolder(env) ?? serviceFolder;
  makeFolder(folder);
  const problem = problemOfFolder(folder);
  if (problem !== undefined) throw new WeirError('control_folder', problem);
  const control = await ControlSocket.open(join(folder, `${pid}.sock`), handlers);
  await removeStale(folder, pid);
  return control;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Removes sockets that no process listens on and whose process has ended. Both are checked: a process of another
 * container may have an id that is unknown here, and a process that has just bound does not listen yet.
 */
async function removeStale(folder: string, ownPid: number): Promise<void> {
  const names = readdirSync(folder).filter((name) => /^\d{1,10}\.sock$/.test(name));
  for (const name of names.slice(0, MAX_REMOVED)) {
    const pid = Number.parseInt(name, 10);
    if (pid === ownPid || isRunning(pid)) continue;
    const path = join(folder, name);
    if (!(await isStaleSocket(path))) continue;
    try {
      unlinkSync(path);
    } catch {
      // Another start has removed it.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
