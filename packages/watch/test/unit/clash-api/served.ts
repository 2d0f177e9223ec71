import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startClashApi, type ClashApiOptions } from '../../../src/clash-api/start.ts';
import { ApiClient } from '@weir/client/api';
import {
  fakeMonitor,
  type FakeMonitor,
} from '../../../../../test/support/dashboard/fake-monitor.ts';
import { flow, ROUTES } from './support.ts';

export const SECRET = 'sesame';

/** What Weir's API was asked for: method, path and body. */
type Asked = readonly [method: string, path: string, body: string];

export interface ClashReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

/** The adapter before a stand-in for Weir's API, without a control socket. */
export class ServedClash implements AsyncDisposable {
  readonly port: number;
  readonly monitor: FakeMonitor;
  readonly asked: Asked[];
  readonly #stack: AsyncDisposableStack;

  private constructor(
    parts: Pick<ServedClash, 'port' | 'monitor' | 'asked'>,
    stack: AsyncDisposableStack,
  ) {
    this.port = parts.port;
    this.monitor = parts.monitor;
    this.asked = parts.asked;
    this.#stack = stack;
  }

  /** @param refusals statuses of the API for requests by `METHOD PATH` */
  static async start(
    options: Partial<ClashApiOptions> = {},
    refusals: Readonly<Record<string, number>> = {},
  ): Promise<ServedClash> {
    await using stack = new AsyncDisposableStack();
    const asked: Asked[] = [];
    const weir = createServer((request, response) => {
      const { method = '', url = '' } = request;
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        asked.push([method, url, body]);
        const status = refusals[`${method} ${url}`];
        const answer =
          status === undefined ? ANSWERS[`${method} ${url}`] : { error: 'no such thing' };
        response.writeHead(status ?? (answer === undefined ? 204 : 200));
        response.end(answer === undefined ? '' : JSON.stringify(answer));
      });
    }).listen(0, '127.0.0.1');
    await once(weir, 'listening');
    stack.defer(() => {
      weir.closeAllConnections();
      weir.close();
    });
    const { port } = weir.address() as AddressInfo;
    const url = new URL(`http://127.0.0.1:${port}`);
    const monitor = fakeMonitor();
    const served = stack.use(
      await startClashApi({
        listen: { kind: 'tcp', host: '127.0.0.1', port: 0, tls: undefined },
        weir: {
          api: new ApiClient({ kind: 'url', url }, undefined),
          socket: undefined,
          config: undefined,
          findAgain: () => Promise.resolve(),
        },
        monitor,
        secret: SECRET,
        origins: ['https://board.example'],
        ui: undefined,
        updateSubscription: () => Promise.resolve(),
        note: () => undefined,
        onDefect: (error) => {
          throw error;
        },
        ...options,
      }),
    );
    const own = Number(new URL(served.url ?? '').port);
    return new ServedClash({ port: own, monitor, asked }, stack.move());
  }

  get authorized(): Readonly<Record<string, string>> {
    return { Authorization: `Bearer ${SECRET}` };
  }

  /** A request with the secret. */
  ask(method: string, path: string, body?: unknown): Promise<ClashReply> {
    return this.send(method, path, this.authorized, body);
  }

  async send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<ClashReply> {
    const { promise, resolve, reject } = Promise.withResolvers<ClashReply>();
    httpRequest({ host: '127.0.0.1', port: this.port, method, path, headers, agent: false })
      .on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => {
          const { statusCode: status = 0, headers: fields } = response;
          const isJson = fields['content-type'] === 'application/json';
          resolve({ status, headers: fields, text, json: isJson ? JSON.parse(text) : undefined });
        });
      })
      .on('error', reject)
      .end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
    return promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack[Symbol.asyncDispose]();
  }
}

const ANSWERS: Readonly<Record<string, unknown>> = {
  'GET /v1/routes': ROUTES,
  'GET /v1/connections': { sessions: [], flows: [flow()] },
  'PUT /v1/routes/Video': { status: 'applied' },
  'PUT /v1/routes/default': { status: 'applied' },
  'POST /v1/reload': { status: 'unchanged' },
  'DELETE /v1/connections': { closed: 1 },
};
