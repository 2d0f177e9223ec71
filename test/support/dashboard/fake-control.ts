import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { scratch } from '../process/weir.ts';

/** A line of a log, as the control socket sends it. */
export interface FakeLine {
  readonly at?: number;
  readonly level?: string;
  readonly target?: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, string | number>>;
}

/** A control socket with a log that a test writes. Lines are sent as they are: a Weir would escape them. */
export class FakeControl implements AsyncDisposable {
  /**
   * All requests but those that only read, which a dashboard makes at times of its own (`log`, `loaded-files`):
   * `log-level debug`.
   */
  readonly requests: string[] = [];
  readonly path: string;
  readonly #server: Server;
  readonly #folder: AsyncDisposable;
  readonly #followers = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #written: string[] = [];
  /** Its lines have different times, so that a follower that comes again knows which are new. */
  #at = Date.now() - 60_000;

  private constructor(path: string, server: Server, folder: AsyncDisposable) {
    this.path = path;
    this.#server = server;
    this.#folder = folder;
    server.on('connection', (socket) => this.#serve(socket));
  }

  static async start(): Promise<FakeControl> {
    const folder = await scratch();
    const path = join(folder.path, 'control.sock');
    const server = createServer().listen({ path });
    await once(server, 'listening');
    return new FakeControl(path, server, folder);
  }

  /** Writes a line of the log. */
  log({ level = 'info', target = 'svc_app', fields = {}, ...line }: FakeLine): void {
    this.#write({ at: (this.#at += 1), level, target, fields, ...line });
  }

  /** Says that lines were lost, as to a follower that was too slow. */
  lose(lost: number): void {
    this.#write({ lost });
  }

  /** Ends the connections of those who follow the log. */
  endFollowers(): void {
    for (const socket of this.#followers) socket.end();
  }

  /** Ends as a process that ends. */
  async end(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #write(value: object): void {
    const text = `${JSON.stringify(value)}\n`;
    if ('at' in value) this.#written.push(text);
    for (const socket of this.#followers) socket.write(text);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#followers.delete(socket);
    });
    socket.once('data', (data) => {
      const request = String(data).trimEnd();
      if (request.startsWith('log {')) {
        socket.write(`${this.#written.join('')}{"live":true}\n`);
        this.#followers.add(socket);
        return;
      }
      if (request !== 'loaded-files') this.requests.push(request);
      socket.end('{"kind":"unchanged"}\n');
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#folder[Symbol.asyncDispose]();
  }
}
