import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { suite, test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { FetchError, type FetchErrorCode, type FetchRequest } from '../../../src/fetch/contract.ts';
import { connectDirectly, fetchDirectly } from '../../../src/fetch/direct.ts';
import { createFetch } from '../../../src/fetch/http-fetch.ts';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import { freePort } from '../../../../../test/support/ports.ts';

const LIMITS = { timeoutMs: 20_000, maxBytes: 1_000_000 };

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = async (t: TestContext, listener: RequestListener): Promise<string> =>
  `http://${await listening(t, createServer(listener))}`;

/** A server that answers every connection's first bytes with these. */
const answer = async (t: TestContext, text: string, isEnded = true): Promise<string> => {
  const server = createTcpServer((socket) => {
    socket.once('data', () =>
      isEnded ? socket.end(text, 'latin1') : socket.write(text, 'latin1'),
    );
  });
  return `http://${await listening(t, server)}`;
};

async function failure(
  url: string,
  more: Partial<FetchRequest> = {},
): Promise<readonly [FetchErrorCode, string]> {
  const error: unknown = await fetchDirectly({ url, ...LIMITS, ...more }).then(
    () => assert.fail('it was fetched'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof FetchError)) throw error;
  assert.doesNotMatch(error.message, /secret|\n/);
  return [error.code, error.message.replace(/^127\.0\.0\.1:\d+: /, '')];
}

const text = (body: Uint8Array): string => Buffer.from(body).toString();

/** Bytes of the heap after a collection. */
async function heapUsed(): Promise<number> {
  await uncollected([new WeakRef({})]);
  return process.memoryUsage().heapUsed;
}

suite('a document', () => {
  test('in chunks of a byte takes the memory of its bytes', async (t) => {
    const chunks = '1\r\na\r\n'.repeat(100_000);
    const url = await answer(
      t,
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
      false,
    );
    let connection: Duplex | undefined;
    const fetch = createFetch(async (target, signal) => {
      connection = await connectDirectly(target, signal);
      return connection;
    });
    const before = await heapUsed();
    const gone = new AbortController();
    const fetched = assert.rejects(fetch({ url, ...LIMITS }, gone.signal), { name: 'AbortError' });
    while (((connection as Socket | undefined)?.bytesRead ?? 0) < chunks.length)
      await setImmediate();
    const grown = (await heapUsed()) - before;
    gone.abort();
    await fetched;
    assert.ok(grown < 10_000_000, `the heap has grown by ${grown} bytes`);
  });

  test('is returned with its status and headers', async (t) => {
    const url = await serve(t, (request, response) => {
      response.setHeader('X-Agent', request.headers['user-agent'] ?? '');
      response.setHeader('Set-Cookie', ['a=1', 'b=2']);
      response.writeHead(404).end(request.url);
    });
    const { status, headers, body } = await fetchDirectly({ url: `${url}/a?b#c`, ...LIMITS });
    assert.equal(status, 404);
    assert.match(headers.get('x-agent') ?? '', /^weir\/\d/);
    assert.equal(headers.get('set-cookie'), 'a=1, b=2');
    assert.equal(text(body), '/a?b');
  });

  test('may be decoded from gzip and deflate', async (t) => {
    const plain = 'x'.repeat(100_000);
    const encodings = { gzip: gzipSync, deflate: deflateSync };
    const url = await serve(t, (request, response) => {
      const name = (request.url ?? '').slice(1) as keyof typeof encodings;
      assert.equal(request.headers['accept-encoding'], 'gzip, deflate');
      response.setHeader('Content-Encoding', name).end(encodings[name](plain));
    });
    for (const name of Object.keys(encodings)) {
      const { body } = await fetchDirectly({ url: `${url}/${name}`, ...LIMITS });
      assert.equal(text(body), plain, name);
    }
  });

  test('has conditions and headers of the request, which replace the own ones', async (t) => {
    const url = await serve(t, (request, response) => {
      const { 'if-none-match': tag, 'user-agent': agent } = request.headers;
      response.writeHead(tag === '"1"' && agent === 'clash' ? 304 : 200).end();
    });
    const headers = { 'If-None-Match': '"1"', 'USER-AGENT': 'clash' };
    const { status, body } = await fetchDirectly({ url, headers, ...LIMITS });
    assert.equal(status, 304);
    assert.equal(body.length, 0);
  });

  test('may be asked for by HEAD, of any length', async (t) => {
    const url = await serve(t, (_, response) => {
      response
        .setHeader('Content-Length', 10 ** 12)
        .setHeader('Content-Encoding', 'gzip')
        .end();
    });
    const { headers } = await fetchDirectly({ url, method: 'HEAD', ...LIMITS });
    assert.equal(headers.get('content-length'), '1000000000000');
  });

  test('ends a caller who aborts with its reason', async (t) => {
    const url = await answer(t, '', false);
    const controller = new AbortController();
    const reason = new Error('enough');
    const pending = fetchDirectly({ url, ...LIMITS }, controller.signal);
    controller.abort(reason);
    await assert.rejects(pending, reason);
    await assert.rejects(fetchDirectly({ url, ...LIMITS }, controller.signal), reason);
  });
});

suite('redirections', () => {
  test('are followed up to five times', async (t) => {
    const url = await serve(t, (request, response) => {
      const left = Number((request.url ?? '').slice(1));
      if (left > 0) response.writeHead(302, { Location: `${left - 1}` });
      response.end('there');
    });
    assert.equal(text((await fetchDirectly({ url: `${url}/5`, ...LIMITS })).body), 'there');
    assert.deepEqual(await failure(`${url}/6`), ['redirect', 'more than 5 redirections']);
  });

  test('keep credentials for the same host, and no secret for another', async (t) => {
    const seen: unknown[] = [];
    const other = await serve(t, ({ headers }, response) => {
      const { authorization, 'x-token': token, 'user-agent': agent } = headers;
      seen.push({ authorization, token, agent });
      response.end();
    });
    const url = await serve(t, (request, response) => {
      seen.push(request.headers.authorization);
      const to = request.url === '/' ? '/second' : `${other.replace('//', '//c:d@')}/`;
      response.writeHead(301, { Location: to }).end();
    });
    await fetchDirectly({
      url: url.replace('//', '//a:b%40@'),
      headers: { 'X-Token': 'secret', 'User-Agent': 'me' },
      ...LIMITS,
    });
    const basic = `Basic ${Buffer.from('a:b@').toString('base64')}`;
    const none = { authorization: undefined, token: undefined, agent: 'me' };
    assert.deepEqual(seen, [basic, basic, none]);
  });

  test('to files, to nowhere and from https to http are refused', async (t) => {
    for (const [to, reason] of [
      ['file:///etc/secret', 'redirects to file:'],
      ['http://[secret', 'redirects to something that is not a URL'],
      ['data:,secret', 'redirects to data:'],
    ] as const) {
      const url = await serve(t, (_, response) => {
        response.writeHead(307, { Location: to }).end();
      });
      assert.deepEqual(await failure(url), ['redirect', reason]);
    }
    const authority = new TestAuthority();
    const certificate = authority.issue({ ip: ['127.0.0.1'] });
    const secure = await listening(
      t,
      createTlsServer(certificate, (_, response) => {
        response.writeHead(308, { Location: 'http://127.0.0.1/secret' }).end();
      }),
    );
    const plain = await serve(t, (_, response) => {
      response.writeHead(301, { Location: `https://${secure}/` }).end();
    });
    const fetch = createFetch(connectDirectly, { file: 'ca.pem', certificates: [authority.cert] });
    await assert.rejects(fetch({ url: plain, ...LIMITS }), {
      code: 'redirect',
      message: `${secure}: redirects from https to http on 127.0.0.1`,
    });
  });
});

suite('a failure has its cause', () => {
  test('when the request cannot be sent', async () => {
    assert.deepEqual(await failure('secret'), ['url', 'not a URL']);
    assert.deepEqual(await failure('file:///etc/secret'), [
      'url',
      'a URL of file: instead of http: or https:',
    ]);
    assert.equal((await failure('http://%ff:secret@127.0.0.1:1/'))[0], 'url');
    const url = 'http://127.0.0.1:1/secret';
    assert.equal((await failure(url, { headers: { Host: 'x' } }))[0], 'url');
    assert.equal((await failure(url, { headers: { 'x-a': 'secret\r\nb: c' } }))[0], 'url');
    assert.equal((await failure(url, { headers: { 'x a': 'b' } }))[0], 'url');
  });

  test('when nothing listens', async () => {
    const host = `127.0.0.1:${await freePort()}`;
    assert.deepEqual(await failure(`http://u:secret@${host}/secret?secret`), [
      'dial',
      'connection refused',
    ]);
  });

  test('when the certificate is not trusted, or there is no TLS', async (t) => {
    const certificate = new TestAuthority().issue({ ip: ['127.0.0.1'] });
    const secure = await listening(t, createTlsServer(certificate));
    const [code, reason] = await failure(`https://${secure}/`);
    assert.equal(code, 'tls');
    assert.match(reason, /^TLS: unable to verify the first certificate$/);
    const plain = await serve(t, (_, response) => void response.end());
    assert.deepEqual(await failure(plain.replace('http:', 'https:')), [
      'tls',
      'TLS: the peer does not speak TLS',
    ]);
  });

  test('when it takes too long, at any stage', async (t) => {
    const silent = await answer(t, '', false);
    const slow = await serve(t, (_, response) => {
      const timer = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(timer));
    });
    for (const url of [silent, silent.replace('http:', 'https:'), slow]) {
      assert.deepEqual(await failure(url, { timeoutMs: 50 }), [
        'timeout',
        'the request took longer than 0.05 s',
      ]);
    }
  });

  test('when the body is too large, whatever its length says', async (t) => {
    let sent = 0;
    const url = await serve(t, (request, response) => {
      if (request.url === '/length') response.setHeader('Content-Length', 100_000_000);
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        while (!response.destroyed && sent < 100_000_000) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
      };
      more();
    });
    const reason = ['too_large', 'the document has more than 1000000 bytes'];
    assert.deepEqual(await failure(`${url}/length`), reason);
    assert.deepEqual(await failure(`${url}/`), reason);
    assert.ok(sent < 50_000_000, `${sent} bytes were sent`);
  });

  test('when little decodes to much', async (t) => {
    // 1 GB of zeros, compressed as it is sent.
    let pieces = 0;
    const url = await serve(t, (_, response) => {
      response.setHeader('Content-Encoding', 'gzip');
      const gzip = createGzip();
      gzip.pipe(response);
      const piece = Buffer.alloc(1_000_000);
      const more = (): void => {
        while (pieces < 1000 && !response.destroyed) {
          pieces++;
          if (!gzip.write(piece)) return void gzip.once('drain', more);
        }
      };
      more();
    });
    const before = process.memoryUsage().arrayBuffers;
    assert.equal((await failure(url))[0], 'too_large');
    assert.ok(process.memoryUsage().arrayBuffers - before < 100_000_000);
  });

  test('when an encoded body decodes to nothing for ever', async (t) => {
    // Empty stored blocks (RFC 1951 §3.2.4).
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\x78\x9c';
    const url = await answer(t, head + '\x00\x00\x00\xff\xff'.repeat(300_000), false);
    assert.equal((await failure(url))[0], 'too_large');
  });

  test('when a body has a content coding that was not asked for, Brotli among them', async (t) => {
    const bodies: Record<string, Uint8Array> = {
      br: brotliCompressSync('x'),
      BR: brotliCompressSync('x'),
      'gzip, br': brotliCompressSync(gzipSync('x')),
      'br, gzip': gzipSync(brotliCompressSync('x')),
      zstd: zstdCompressSync('x'),
      compress: Buffer.from('x'),
    };
    const url = await serve(t, (request, response) => {
      const name = decodeURIComponent((request.url ?? '').slice(1));
      response.setHeader('Content-Encoding', name).end(bodies[name]);
    });
    for (const name of Object.keys(bodies)) {
      assert.deepEqual(await failure(`${url}/${encodeURIComponent(name)}`), [
        'protocol',
        `the body has the content coding ${name}, which was not asked for`,
      ]);
    }
  });

  test('when an encoded body is invalid or truncated', async (t) => {
    const bodies: Record<string, Uint8Array> = {
      gzip: gzipSync('x'.repeat(1000)).subarray(0, -9),
      deflate: Buffer.from('garbage'),
    };
    const url = await serve(t, (request, response) => {
      const name = (request.url ?? '').slice(1);
      response.setHeader('Content-Encoding', name).end(bodies[name]);
    });
    for (const name of Object.keys(bodies)) {
      const [code, reason] = await failure(`${url}/${name}`);
      assert.equal(code, 'protocol');
      assert.match(reason, /compressed body is invalid or truncated/);
    }
  });

  test('when the response is no HTTP, or ends early', async (t) => {
    const invalid = 'the response is not valid HTTP';
    const ended = 'the connection ended before the response was complete';
    for (const [response, reason] of [
      ['\x00garbage', invalid],
      ['SSH-2.0-OpenSSH_9.2\r\n', invalid],
      ['', ended],
      ['HTTP/1.1 200 OK\r\nContent-', ended],
      ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort', ended],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort', ended],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nlonger\r\n0\r\n\r\n', invalid],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', invalid],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n', invalid],
      ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', invalid],
      [
        'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
        'the server switches to another protocol',
      ],
      [
        `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(40_000)}\r\n\r\n`,
        'the response has more than 32768 bytes of headers',
      ],
    ] as const) {
      assert.deepEqual(await failure(await answer(t, response)), ['protocol', reason], response);
    }
  });
});
