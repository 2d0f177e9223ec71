import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { requestStatus } from '@weir/server/control';
import { socksConnect } from '../peers/socks-client.ts';
import { SocksServer } from '../peers/socks-server.ts';
import { echoServer, type Origin } from '../peers/servers.ts';
import { httpIn, socksIn } from '../process/config.ts';
import { API, Control } from '../process/control.ts';
import { Weir } from '../process/weir.ts';
import { eventually } from '../wait.ts';

const node = (name: string, { port }: SocksServer): string =>
  `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = ${port}\n`;

const group = (name: string, port: number): string =>
  `[[route_group]]\nname = "${name}"\n[[route_group.rule]]\nport = ["${port}"]\n`;

/** An HTTP server that delays are measured with: status 204 to everything, 404 to `/missing`. */
async function testPage(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/missing' ? 404 : 204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/generate_204`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * A running Weir with two nodes, `tokyo` and `osaka`, a balancer `japan` of two outbounds, and a route group
 * `Video` for the port of `echo`, which has the pick `tokyo`.
 */
export class SteeredWeir implements AsyncDisposable {
  readonly weir: Weir;
  readonly control: Control;
  readonly echo: Origin;
  readonly tokyo: SocksServer;
  readonly osaka: SocksServer;
  /** The URL of a page that delays are measured with. */
  readonly testUrl: string;
  readonly #stack: AsyncDisposableStack;
  readonly #clients: Socket[] = [];

  private constructor(
    parts: Pick<SteeredWeir, 'weir' | 'control' | 'echo' | 'tokyo' | 'osaka' | 'testUrl'>,
    stack: AsyncDisposableStack,
  ) {
    this.weir = parts.weir;
    this.control = parts.control;
    this.echo = parts.echo;
    this.tokyo = parts.tokyo;
    this.osaka = parts.osaka;
    this.testUrl = parts.testUrl;
    this.#stack = stack;
  }

  static async start(): Promise<SteeredWeir> {
    await using stack = new AsyncDisposableStack();
    const [tokyo, osaka] = [await SocksServer.start(), await SocksServer.start()];
    stack.use(tokyo);
    stack.use(osaka);
    const echo = stack.use(await echoServer());
    const page = stack.use(await testPage());
    const own = (tag: string, { port }: SocksServer): string =>
      `[[outbound]]\ntag = "${tag}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = ${port}\n`;
    const config =
      `${API}[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\nVideo = "tokyo"\n` +
      socksIn() +
      httpIn() +
      own('first', tokyo) +
      own('second', osaka) +
      '[[balancer]]\ntag = "japan"\noutbounds = ["first", "second"]\n';
    const nodes = node('tokyo', tokyo) + node('osaka', osaka) + group('Video', echo.port);
    const weir = await Weir.start(config, {
      control: true,
      files: { 'nodes.toml': nodes },
      env: { RUST_LOG: 'debug' },
    });
    stack.use(weir);
    const control = await Control.of(weir);
    await eventually('the control socket', () =>
      requestStatus(weir.controlPath).catch(() => undefined),
    );
    const parts = { weir, control, echo, tokyo, osaka, testUrl: page.url };
    return new SteeredWeir(parts, stack.move());
  }

  /** Opens a flow of the group `Video` that stays. */
  async openFlow(): Promise<Socket> {
    const client = await socksConnect(this.weir.address('socks'), this.echo.target);
    this.#clients.push(client);
    client.on('error', () => undefined).write('hello');
    await once(client, 'data');
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await this.#stack[Symbol.asyncDispose]();
  }
}
