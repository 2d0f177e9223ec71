import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { paceParser, type PacedSocket } from '../../../src/http1/paced-socket.ts';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

interface Serving extends AsyncDisposable {
  readonly server: Server;
  /** In the order in which they came. */
  readonly sockets: readonly PacedSocket[];
  readonly connect: () => Promise<Socket>;
}

async function start(serve: Serve): Promise<Serving> {
  const server = createServer({ requireHostHeader: false });
  Object.assign(server, { httpAllowHalfOpen: true });
  const sockets: PacedSocket[] = [];
  paceParser(server, 'connection', (socket) => {
    socket.on('error', () => undefined);
    sockets.push(socket);
  });
  server.on('request', serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    sockets,
    async connect() {
      const client = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
      await once(client, 'connect');
      return client;
    },
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Sends the body of a request back. */
const echo: Serve = (request, response) =>
  void text(request).then((body) => response.end(`<${request.method} ${body}>`));

/** What a client gets that sends these writes and ends its side. */
async function exchange(client: Socket, writes: readonly string[]): Promise<string> {
  for (const write of writes) client.write(write);
  client.end();
  return await text(client);
}

const post = (body: string): string =>
  `POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe("Node's parser in pieces", () => {
  test('a client that is refused has few of its pipelined requests parsed', async () => {
    let requests = 0;
    await using serving = await start((_request, response) => {
      requests++;
      const [socket] = serving.sockets;
      socket?.ignoreInput();
      if (requests === 1) response.writeHead(401, { Connection: 'close' }).end();
    });
    const client = await serving.connect();
    const answer = await exchange(client, ['GET / HTTP/1.1\r\n\r\n'.repeat(3000)]);
    assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.ok(requests >= 1 && requests <= 4, String(requests));
  });

  test('other work is done between the requests of one read', async () => {
    const order: string[] = [];
    await using serving = await start((_request, response) => {
      order.push('request');
      if (order.length === 1) setImmediate(() => order.push('other'));
      // Longer than a turn.
      const until = performance.now() + 6;
      while (performance.now() < until);
      response.end();
    });
    const client = await serving.connect();
    await exchange(client, ['GET / HTTP/1.1\r\n\r\n'.repeat(20)]);
    assert.equal(order.filter((event) => event === 'request').length, 20);
    assert.ok(order.indexOf('other') < 20, order.join(' '));
  });

  test('a client that ends its side gets all of its responses', async () => {
    await using serving = await start(echo);
    const client = await serving.connect();
    const answer = await exchange(client, [post('a').repeat(100)]);
    assert.equal(answer.match(/<POST a>/g)?.length, 100);
  });

  test('a body of many reads arrives whole, while its reader is slow', async () => {
    await using serving = await start((request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
        request.pause();
        setImmediate(() => request.resume());
      });
      request.on('end', () => response.end(String(length)));
    });
    const client = await serving.connect();
    assert.match(await exchange(client, [post('\r\n\r\n'.repeat(500_000))]), /\b2000000\b/);
  });

  test('any division of requests into writes gives the same responses', async () => {
    await using serving = await start(echo);
    const bodies = fc.array(fc.stringMatching(/^[\r\na:]*$/, { size: 'max', maxLength: 300 }), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(bodies, fc.array(fc.nat(2000), { maxLength: 8 }), async (sent, cuts) => {
        const bytes = sent.map(post).join('');
        const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].toSorted(
          (a, b) => a - b,
        );
        const writes = ends.map((end, i) => bytes.slice(ends[i - 1] ?? 0, end));
        const client = await serving.connect();
        client.setNoDelay(true);
        const answer = await exchange(client, writes);
        const echoed = Array.from(answer.matchAll(/<POST ([^>]*)>/g), ([, body]) => body);
        assert.deepEqual(echoed, sent);
      }),
      { numRuns: 60 },
    );
  });

  test('a client that disconnects while its requests wait ends them', async () => {
    const closed = Promise.withResolvers<void>();
    await using serving = await start((request) => {
      if (!client.destroyed) request.socket.once('close', () => closed.resolve());
      client.resetAndDestroy();
    });
    const client = await serving.connect();
    client.write('GET / HTTP/1.1\r\n\r\n'.repeat(1000));
    await closed.promise;
    assert.equal(serving.sockets[0]?.destroyed, true);
  });

  test('an idle connection is closed by the timeout of the server', async () => {
    await using serving = await start(echo);
    serving.server.setTimeout(1);
    const client = await serving.connect();
    assert.equal(await text(client), '');
  });

  test('a connection that has ended may be destroyed soon as any other', async () => {
    await using serving = await start((_request, response) => response.end());
    for (const isEnded of [false, true]) {
      const client = await serving.connect();
      client.write('GET / HTTP/1.1\r\n\r\n');
      await once(client, 'data');
      const socket = serving.sockets.at(-1) ?? assert.fail('no connection');
      if (isEnded) await once(socket.end(), 'finish');
      const closed = once(socket, 'close');
      socket.destroySoon();
      await closed;
      assert.equal(await text(client), '');
    }
  });

  test('its peer is that of the connection', async () => {
    await using serving = await start((request, response) => {
      const { remoteAddress, remotePort } = request.socket;
      response.end(`${remoteAddress} ${remotePort}`);
    });
    const client = await serving.connect();
    const { localPort } = client;
    const answer = await exchange(client, ['GET / HTTP/1.1\r\n\r\n']);
    assert.ok(answer.endsWith(`127.0.0.1 ${localPort}`), answer);
  });
});
