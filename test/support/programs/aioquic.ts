import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { portOf, type Address } from '../data/address.ts';
import { Child } from '../process/child.ts';
import { certificate, SERVER_NAME } from '../ways/certificate.ts';

/** aioquic, in the Python environment that `.ci/run` makes. */
const PYTHON = fileURLToPath(new URL('../../../.venv/bin/python', import.meta.url));

const script = (name: string): string =>
  fileURLToPath(new URL(`../../interop/aioquic/${name}.py`, import.meta.url));

/** What a test's `skip` option takes. */
export const withoutAioquic: string | false = existsSync(PYTHON)
  ? false
  : 'not installed: aioquic (PyPI), which .ci/run puts into .venv';

/** A script that prints lines of JSON. */
class Script implements AsyncDisposable {
  readonly child: Child;
  #read = 0;

  constructor(name: string, args: readonly string[]) {
    // Its modules are compiled into no folder of the sources.
    this.child = new Child(PYTHON, ['-B', script(name), ...args]);
  }

  /** The next line that it prints. */
  async line(): Promise<unknown> {
    const index = this.#read++;
    const text = await this.child.until(`line ${index + 1}`, ({ stdout }) => {
      const lines = stdout.split('\n');
      return index + 1 < lines.length ? lines[index] : undefined;
    });
    return JSON.parse(text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.child[Symbol.asyncDispose]();
  }
}

/** What a client knows of its connection. */
export interface AioquicConnection {
  /** Its local port. */
  readonly port: number;
  /** Whether the server demanded a token by a Retry packet. */
  readonly retried: boolean;
  /** Whether the server has negotiated the version. */
  readonly negotiated: boolean;
  readonly version: number;
}

export interface AioquicResponse {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The error code of a stream that was reset. */
  readonly reset?: number;
}

/** What an echo through a proxied stream came to. */
export interface AioquicEcho {
  readonly size: number;
  /** Whether every byte came back. */
  readonly same: boolean;
  /** The local port at the end. */
  readonly port: number;
}

/** What a client does in the middle of an echo. */
export type Halfway = 'nothing' | 'update_keys' | 'migrate' | 'rebind';

type Fields = Readonly<Record<string, string>>;

export interface AioquicRequest {
  readonly method?: string;
  readonly path?: string;
  readonly authority?: string;
  readonly fields?: Fields;
  readonly body?: string;
  /** Bytes in hex before the HEADERS frame. */
  readonly before?: string;
  /** Also open a unidirectional stream of this type. */
  readonly streamType?: number;
}

/** aioquic as a client of a QUIC server, with one connection at a time. */
export class AioquicClient extends Script {
  constructor(server: Address) {
    super('client', [String(portOf(server)), certificate().caFile, SERVER_NAME]);
  }

  /** @param options of aioquic's QuicConfiguration. */
  async connect(options: Readonly<Record<string, unknown>> = {}): Promise<AioquicConnection> {
    return (await this.#do({ do: 'connect', options })) as AioquicConnection;
  }

  async request(request: AioquicRequest): Promise<AioquicResponse> {
    const { method = 'GET', path = '/', authority = SERVER_NAME, fields = {} } = request;
    const headers = [
      [':method', method],
      [':scheme', 'https'],
      [':authority', authority],
      [':path', path],
      ...Object.entries(fields),
    ];
    const { body = '', before = '', streamType: stream_type } = request;
    const command = { do: 'request', headers, body, before, stream_type };
    return (await this.#do(command)) as AioquicResponse;
  }

  /** Authenticates with a password. */
  authenticate(password: string): Promise<AioquicResponse> {
    const fields = { 'hysteria-auth': password, 'hysteria-cc-rx': '0', 'hysteria-padding': 'xx' };
    return this.request({ method: 'POST', path: '/auth', authority: 'hysteria', fields });
  }

  /** Sends bytes to an echo server through the proxy. */
  async echo(address: string, size: number, halfway: Halfway = 'nothing'): Promise<AioquicEcho> {
    return (await this.#do({ do: 'echo', address, size, halfway })) as AioquicEcho;
  }

  /** Sends messages of TLS, in hex, after the handshake; how the connection ends. */
  async crypto(data: string): Promise<{ readonly code: number; readonly reason: string }> {
    return (await this.#do({ do: 'crypto', data })) as { code: number; reason: string };
  }

  /** Ends the HTTP/3 control stream. */
  async dropHttp(): Promise<void> {
    await this.#do({ do: 'drop-http' });
  }

  /** Sends the Initial packets of so many clients that send nothing after. */
  async halfOpen(count: number): Promise<void> {
    await this.#do({ do: 'half-open', count });
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    await this.#do({ do: 'close' });
  }

  async #do(command: object): Promise<unknown> {
    this.child.stdin.write(`${JSON.stringify(command)}\n`);
    const result = (await this.line()) as { readonly error?: string };
    if (result.error !== undefined) throw new Error(`aioquic: ${result.error}`);
    return result;
  }
}

/** A Hysteria 2 server on aioquic; what its streams do is in its file. */
export class AioquicServer extends Script {
  #port = 0;

  static async start(password: string, ...options: readonly 'retry'[]): Promise<AioquicServer> {
    const { certFile, keyFile } = certificate();
    const server = new AioquicServer('server', [certFile, keyFile, password, ...options]);
    try {
      server.#port = ((await server.line()) as { readonly port: number }).port;
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get address(): Address {
    return { host: '127.0.0.1', port: this.#port };
  }
}
