import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
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
   * All requests but those that only read, which a dashboard makes at times of its own (of the log, of files):
   * `PUT /control/log-level {"filter":"debug"}`.
   */
  readonly requests: string[] = [];
  readonly path: string;
  readonly #server: Server;
  readonly #folder: AsyncDisposable;
  readonly #followers = new Set<ServerResponse>();
  readonly #written: string[] = [];
  /** Its lines have different times, so that a follower that comes again knows which are new. */
  #at = Date.now() - 60_000;

  private constructor(path: string, server: Server, folder: AsyncDisposable) {
    this.path = path;
    this.#server = server;
    this.#folder = folder;
    server.on('request', (request, response) => void this.#serve(request, response));
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
    for (const response of this.#followers) response.end();
  }

  /** Ends as a process that ends. */
  async end(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #write(value: object): void {
    const line = `${JSON.stringify(value)}\n`;
    if ('at' in value) this.#written.push(line);
    for (const response of this.#followers) response.write(line);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A response ends with its connection.
    response.useChunkedEncodingByDefault = false;
    response.once('close', () => this.#followers.delete(response));
    const asked = `${request.method} ${request.url}`;
    const body = await text(request);
    if (asked === 'POST /control/log') {
      response.write(`${this.#written.join('')}{"live":true}\n`);
      this.#followers.add(response);
      return;
    }
    if (asked !== 'GET /control/loaded-files') this.requests.push(`${asked} ${body}`);
    response.end('{"kind":"unchanged"}\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.#folder[Symbol.asyncDispose]();
  }
}
