import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { hostPort, open, type Address } from '../../../../test/support/data/address.ts';
import { readAll } from '../../../../test/support/read.ts';
import { within } from '../../../../test/support/wait.ts';

export interface Reply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
  readonly agent?: Agent;
  /** How long the response may take, in milliseconds. */
  readonly patience?: number;
}

/** One event of a stream; a comment has the name `:`. */
export interface SeenEvent {
  readonly name: string;
  readonly data: unknown;
}

/** Talks to the API as its users do, over TCP or a unix socket. */
export class ApiClient {
  readonly address: Address;
  readonly #token: string | undefined;

  constructor(address: Address, token?: string) {
    this.address = address;
    this.#token = token;
  }

  /** The `Host` that a request names. */
  get host(): string {
    return 'path' in this.address ? 'localhost' : hostPort(this.address);
  }

  get authorization(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  async ask(method: string, path: string, asked: Asked = {}): Promise<Reply> {
    const message = await this.#send(method, path, asked);
    const chunks: Buffer[] = [];
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
    return replyOf(message, Buffer.concat(chunks).toString());
  }

  get(path: string, asked?: Asked): Promise<Reply> {
    return this.ask('GET', path, asked);
  }

  /** A PUT of a pick, with JSON unless the body is not. */
  pick(
    group: string,
    target: string,
    headers: Readonly<Record<string, string>> = {},
    asked: Asked = {},
  ): Promise<Reply> {
    return this.ask('PUT', `/v1/routes/${encodeURIComponent(group)}`, {
      ...asked,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ target }),
    });
  }

  /** The JSON of a response that must be a success. */
  async json(method: string, path: string, asked?: Asked): Promise<unknown> {
    const { status, text } = await this.ask(method, path, asked);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as unknown;
  }

  /** Opens a stream of events; the subscription stands when this resolves. */
  async events(path: string): Promise<EventReader> {
    const message = await this.#send('GET', path, {});
    if (message.statusCode !== 200) throw new Error(`${path}: ${message.statusCode}`);
    return new EventReader(message);
  }

  /** Sends bytes on a connection of their own and reads to its end. */
  async raw(bytes: string | Uint8Array, options: { readonly end?: boolean } = {}): Promise<string> {
    const socket = await open(this.address);
    socket.write(bytes);
    if (options.end === true) socket.end();
    const { data } = await readAll(socket);
    socket.destroy();
    return data.toString('latin1');
  }

  /** A connection for bytes of one's own. */
  connect(): Promise<Socket> {
    return open(this.address);
  }

  async #send(
    method: string,
    path: string,
    { headers, body, agent, patience }: Asked,
  ): Promise<IncomingMessage> {
    const where =
      'path' in this.address
        ? { socketPath: this.address.path }
        : { host: this.address.host, port: this.address.port };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = httpRequest({
      ...where,
      method,
      path,
      agent: agent ?? new Agent(),
      headers: { host: this.host, ...this.authorization, ...headers },
    });
    request.once('response', resolve).once('error', reject);
    request.end(body);
    return within(promise, `a response to ${method} ${path}`, patience);
  }
}

const replyOf = ({ statusCode = 0, headers }: IncomingMessage, text: string): Reply => ({
  status: statusCode,
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  ),
  text,
});

/** Reads server-sent events one by one. */
export class EventReader implements Disposable {
  readonly message: IncomingMessage;
  #text = '';
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(message: IncomingMessage) {
    this.message = message;
    message.setEncoding('utf8');
    message.on('data', (chunk: string) => {
      this.#text += chunk;
      this.#wake?.();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake?.();
    };
    message.on('end', end).on('close', end).on('error', end);
  }

  get contentType(): string | undefined {
    return this.message.headers['content-type'];
  }

  /** The next event; `undefined` when the stream has ended. */
  async next(): Promise<SeenEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parseBlock(block);
      }
      if (this.#ended) return undefined;
      await within(
        new Promise<void>((resolve) => {
          this.#wake = resolve;
        }),
        'an event',
      );
    }
  }

  async take(count: number): Promise<SeenEvent[]> {
    const events: SeenEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (!event) break;
      events.push(event);
    }
    return events;
  }

  [Symbol.dispose](): void {
    this.message.destroy();
  }
}

/** Takes exactly what the API promises to send, so that anything else shows. */
function parseBlock(block: string): SeenEvent {
  if (block.startsWith(':')) return { name: ':', data: undefined };
  const match = /^event: (\w+)\ndata: (.*)$/.exec(block);
  if (!match) throw new Error(`no event: ${JSON.stringify(block)}`);
  return { name: match[1] ?? '', data: JSON.parse(match[2] ?? '') as unknown };
}
