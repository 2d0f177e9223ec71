import assert from 'node:assert/strict';
import { patch } from '../../../packages/watch/src/dashboard/shared/delta.ts';
import type {
  JsonValue,
  SessionInfo,
  StreamHello,
  StreamMessage,
} from '../../../packages/watch/src/dashboard/shared/protocol.ts';

/** What a browser does, by `fetch`. */
export class DashboardClient {
  readonly url: string;
  cookie = '';
  key = '-';
  setCookie = '';

  constructor(url: string) {
    this.url = url;
  }

  /** Uses a link, which no client has used. */
  static async signIn(link: string): Promise<DashboardClient> {
    const { origin, hash } = new URL(link);
    const client = new DashboardClient(origin);
    const response = await client.ask('POST', '/session', { token: hash.slice(1) });
    assert.equal(response.status, 200);
    client.setCookie = response.headers.get('set-cookie') ?? '';
    client.cookie = client.setCookie.split(';')[0] ?? '';
    client.key = ((await response.json()) as SessionInfo).key;
    return client;
  }

  ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        'weir-dashboard': this.key,
        cookie: this.cookie,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  async act(name: string, parameters: unknown = null): Promise<{ status: number; body: unknown }> {
    const response = await this.ask('POST', `/actions/${name}`, parameters);
    return { status: response.status, body: await response.json() };
  }
}

/** A stream of a client, message by message. */
export class DashboardStream implements AsyncDisposable {
  readonly #abort = new AbortController();
  #lines: AsyncIterator<string> | undefined;
  readonly #values = new Map<number, JsonValue>();
  hello: StreamHello = { stream: '' };

  static async open(client: DashboardClient, watches: unknown): Promise<DashboardStream> {
    const stream = new DashboardStream();
    const response = await client.ask('POST', '/streams', watches, stream.#abort.signal);
    assert.equal(response.status, 200, await peek(response));
    assert.ok(response.body);
    stream.#lines = lines(response.body);
    stream.hello = (await stream.#next()) as StreamHello;
    return stream;
  }

  async next(): Promise<StreamMessage> {
    return (await this.#next()) as StreamMessage;
  }

  /** The value of a watch once `isWanted` accepts it, from all messages that came before. */
  async until(watch: number, isWanted: (value: JsonValue) => boolean): Promise<JsonValue> {
    while (true) {
      const message = await this.next();
      if ('error' in message) continue;
      const value = patch(this.#values.get(message.watch), message.delta);
      this.#values.set(message.watch, value);
      if (message.watch === watch && isWanted(value)) return value;
    }
  }

  async #next(): Promise<unknown> {
    const { value } = (await this.#lines?.next()) ?? {};
    return JSON.parse(String(value));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
  }
}

const peek = async (response: Response): Promise<string> =>
  response.ok ? '' : response.clone().text();

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split('\n');
    text = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('data: ')) yield part.slice('data: '.length);
  }
}
