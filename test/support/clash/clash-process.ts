import type { Child } from '../process/child.ts';
import { weirCommand, type WeirOptions } from '../process/weir.ts';

/** `weir clash-api` as a process, on a port that the kernel chooses. */
export class ClashProcess implements AsyncDisposable {
  readonly child: Child;
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** The secret that it has made. */
  readonly secret: string;

  private constructor(child: Child, url: string, secret: string) {
    this.child = child;
    this.url = url;
    this.secret = secret;
  }

  static async start(args: readonly string[], options: WeirOptions = {}): Promise<ClashProcess> {
    const child = weirCommand(['clash-api', '--listen', '127.0.0.1:0', ...args], options);
    try {
      const [, url = '', secret = ''] = await child.until(
        'where it listens',
        ({ stdout }) => /^controller on (\S+)\nsecret: (\S+)$/m.exec(stdout) ?? undefined,
      );
      return new ClashProcess(child, url, secret);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A request with the secret. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.secret}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  }

  /** The texts of a WebSocket, each parsed, until it is disposed of. */
  stream(path: string): ClashStreamReader {
    const url = new URL(path, this.url.replace(/^http/, 'ws'));
    url.searchParams.set('token', this.secret);
    return new ClashStreamReader(new WebSocket(url));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.child[Symbol.asyncDispose]();
  }
}

/** What a WebSocket of the adapter has sent. */
class ClashStreamReader implements Disposable {
  readonly values: unknown[] = [];
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.values.push(JSON.parse(String(data))));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
