import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort, portOf } from '../support/data/address.ts';
import {
  AioquicClient,
  AioquicServer,
  withoutAioquic,
  type AioquicRequest,
} from '../support/programs/aioquic.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { readAll, readExactly, roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect, SocksRefused } from '../support/peers/socks-client.ts';
import { certificate, SERVER_NAME } from '../support/ways/certificate.ts';
import { Weir } from '../support/process/weir.ts';

const PASSWORD = 'sesame';
const ECHOED = 256 << 10;
const LOG = { env: { RUST_LOG: 'debug' } };
const skip = withoutAioquic;

const { certFile, keyFile, caFile } = certificate();

const hysteriaIn =
  `[[inbound]]\ntag = "hy"\nprotocol = "hysteria2"\nport = 0\n[inbound.settings]\n` +
  `cert_file = "${certFile}"\nkey_file = "${keyFile}"\npassword = "${PASSWORD}"\n`;

/** A reserved frame (RFC 9114 §7.2.8) with three bytes, in hex. */
const RESERVED_FRAME = '21036e6f69';
const RESERVED_STREAM = 0x21;

test('aioquic as a client of Weir', { skip }, async (t) => {
  const server = await Control.of(await Weir.start(API + hysteriaIn + freedom(), LOG));
  await using weir = server.weir;
  await using client = new AioquicClient(weir.address('hy'));
  await using echo = await echoServer();
  const connected = async (body: () => Promise<void>): Promise<void> => {
    await client.connect();
    try {
      await body();
    } finally {
      await client.close();
    }
  };

  await t.test('a prober gets the same response to whatever it requests', () =>
    connected(async () => {
      const probes: readonly AioquicRequest[] = [
        {},
        { path: '/auth' },
        { method: 'POST', body: 'hello' },
        { method: 'POST', path: '/auth', authority: 'hysteria' },
        { method: 'PUT', path: '/../../etc/passwd', body: 'x' },
        { method: 'DELETE', path: '/%00?%ff' },
        { method: 'OPTIONS', path: '*' },
        { method: 'BREW', path: '/coffee' },
        { path: `/${'a'.repeat(8000)}` },
        { fields: { cookie: 'b'.repeat(4000) } },
        { before: RESERVED_FRAME, streamType: RESERVED_STREAM },
      ];
      for (const probe of probes) assertMasquerade(await client.request(probe));
      assertMasquerade(await client.authenticate('wrong'));
      assert.deepEqual((await server.connections()).sessions, []);
    }),
  );

  await t.test('a request with huge headers is reset, and the next one is served', () =>
    connected(async () => {
      const H3_EXCESSIVE_LOAD = 0x107;
      const names = Array.from({ length: 30 }, (_, i) => [`x-${i}`, 'c'.repeat(1000)]);
      const fields = Object.fromEntries(names) as Readonly<Record<string, string>>;
      assert.equal((await client.request({ fields })).reset, H3_EXCESSIVE_LOAD);
      assertMasquerade(await client.request({}));
    }),
  );

  await t.test('a client that has not authenticated is proxied nothing', () =>
    connected(async () => {
      await assert.rejects(client.echo(hostPort(echo), ECHOED));
      assert.equal(echo.accepted(), 0);
    }),
  );

  await t.test('the right password gets 233, and a stream to a destination', () =>
    connected(async () => {
      await client.request({ before: RESERVED_FRAME, streamType: RESERVED_STREAM });
      const { headers } = await client.authenticate(PASSWORD);
      const fields = Object.fromEntries(headers);
      assert.equal(fields[':status'], '233');
      assert.equal(fields['hysteria-udp'], 'false');
      assert.equal(fields['hysteria-cc-rx'], '0');
      const { same, size } = await client.echo(hostPort(echo), ECHOED);
      assert.deepEqual([same, size], [true, ECHOED]);
      const refused = await client.echo('127.0.0.1:1', ECHOED);
      assert.partialDeepStrictEqual(refused, { status: 1 });
      assertMasquerade(await client.request({}));
    }),
  );

  await t.test('keys that the client updates in the middle of a transfer', () =>
    connected(async () => {
      await client.authenticate(PASSWORD);
      const { same } = await client.echo(hostPort(echo), ECHOED, 'update_keys');
      assert.equal(same, true);
    }),
  );

  for (const how of ['migrate', 'rebind'] as const) {
    const name = how === 'migrate' ? 'with another connection id' : 'with the same connection id';
    await t.test(`a client that moves to another port ${name}`, async () => {
      const { port: before } = await client.connect();
      await client.authenticate(PASSWORD);
      const { same, port } = await client.echo(hostPort(echo), ECHOED, how);
      assert.equal(same, true);
      assert.notEqual(port, before);
      assert.equal((await server.connections()).sessions.length, 1);
      await client.close();
    });
  }

  await t.test('a version that Weir does not know is negotiated', async () => {
    const UNKNOWN = 0x1a2a3a4a;
    const supported_versions = [UNKNOWN, 1];
    const connection = await client.connect({ supported_versions, original_version: UNKNOWN });
    assert.deepEqual([connection.negotiated, connection.version], [true, 1]);
    assertMasquerade(await client.request({}));
    await client.close();
  });

  await t.test('a client that drops HTTP/3 once it is authenticated', async () => {
    await client.connect();
    await client.authenticate(PASSWORD);
    await client.dropHttp();
    assert.equal((await client.echo(hostPort(echo), ECHOED)).same, true);
    await client.close();
  });

  for (const [what, messages] of [
    ['a KeyUpdate (RFC 9001 §6)', '1800000100'],
    ['a Finished', '14000000'],
  ] as const) {
    await t.test(`a client that sends ${what} of TLS after the handshake`, async () => {
      await client.connect();
      await client.authenticate(PASSWORD);
      assert.equal((await client.crypto(messages)).code, 0x10a);
      await client.close();
    });
  }

  await t.test('a client among many half-open handshakes shows a token', async () => {
    const MANY = 80;
    await client.halfOpen(MANY);
    const connection = await client.connect();
    assert.equal(connection.retried, true);
    const { headers } = await client.authenticate(PASSWORD);
    assert.deepEqual(headers[0], [':status', '233']);
    assert.equal((await client.echo(hostPort(echo), ECHOED)).same, true);
    await client.close();
  });
});

function assertMasquerade(response: Awaited<ReturnType<AioquicClient['request']>>): void {
  const headers = Object.fromEntries(response.headers);
  assert.match(headers['date'] ?? '', /GMT$/);
  assert.deepEqual(
    { ...headers, date: '' },
    {
      ':status': '404',
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '19',
      date: '',
    },
  );
  assert.equal(response.body, '404 page not found\n');
}

test('aioquic as a server of Weir', { skip }, async (t) => {
  await using server = await AioquicServer.start(PASSWORD);
  await using client = await startClient(server);
  const { weir, connect, echoes } = client;
  const assertRefused = async (host: string, reason: RegExp): Promise<void> => {
    await assert.rejects(connect(host), SocksRefused);
    await weir.child.until(String(reason), ({ stderr }) => reason.test(stderr) || undefined);
  };

  await t.test('a body both ways', () => echoes('echo.test'));
  await t.test('keys that the server updates', async () => {
    await echoes('keys.test');
    await echoes('keys.test');
  });
  await t.test('a refused destination', () =>
    assertRefused('refuse.test', /by out: 127\.0\.0\.1:\d+: no such place/),
  );
  await t.test('a stream that the server resets', () =>
    assertRefused('reset.test', /the server rejected the stream: .*0x10c/),
  );
  await t.test('GOAWAY ends no stream', async () => {
    const socket = await connect('goaway.test');
    assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
    socket.end('the end');
    assert.equal(String(await readExactly(socket, 7)), 'the end');
  });
  for (const [host, how] of [
    ['close.test', 'a connection that the server closes'],
    ['forget.test', 'a stateless reset'],
  ] as const) {
    await t.test(`${how} ends its flows, and the next one connects again`, async () => {
      const live = await connect('echo.test');
      await roundTrip(live, 'hello');
      await assert.rejects(connect(host), SocksRefused);
      assert.equal((await readAll(live)).clean, false);
      await echoes('echo.test');
    });
  }
});

test('a server on aioquic that demands a token gets one', { skip }, async () => {
  await using server = await AioquicServer.start(PASSWORD, 'retry');
  await using client = await startClient(server);
  await client.echoes('echo.test');
});

test(
  'a server on aioquic that refuses the password is named with its status',
  { skip },
  async () => {
    await using server = await AioquicServer.start('another');
    await using client = await startClient(server);
    await assert.rejects(client.connect('echo.test'), SocksRefused);
    const reason = /by out: 127\.0\.0\.1:\d+: the server rejected the password \(HTTP status 404\)/;
    await client.weir.child.until('the reason', ({ stderr }) => reason.test(stderr) || undefined);
  },
);

/** Weir with a SOCKS inbound in front of a server on aioquic. */
async function startClient(server: AioquicServer) {
  const out =
    `[[outbound]]\ntag = "out"\nprotocol = "hysteria2"\nserver = "127.0.0.1"\n` +
    `port = ${portOf(server.address)}\n[outbound.settings]\npassword = "${PASSWORD}"\n` +
    `server_name = "${SERVER_NAME}"\nca_file = "${caFile}"\n`;
  const weir = await Weir.start(socksIn() + out, LOG);
  const connect = (host: string) => socksConnect(weir.address('socks'), { host, port: 1 });
  return {
    weir,
    connect,
    /** A body to the host that comes back. */
    echoes: async (host: string): Promise<void> => {
      const socket = await connect(host);
      const received = receiveBody(socket);
      await sendBody(socket, ECHOED);
      socket.end();
      assert.deepEqual(await received, bodyOf(ECHOED));
    },
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}
