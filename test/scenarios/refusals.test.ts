import assert from 'node:assert/strict';
import test from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { blackhole, freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { ask, httpConnect } from '../support/peers/http-client.ts';
import { freePort } from '../support/ports.ts';
import { readAll, readUpTo, roundTrip } from '../support/read.ts';
import { echoServer, webServer } from '../support/peers/servers.ts';
import {
  COMMAND,
  greet5,
  request5,
  SocksRefused,
  socksConnect,
  socksReply,
} from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { Weir } from '../support/process/weir.ts';

/** A multicast address: the kernel itself refuses to connect there and sends nothing. */
const UNREACHABLE = '224.0.0.1';
const BLOCKED = 'blocked.example';

const CONFIG = [
  socksIn(),
  httpIn(),
  freedom(),
  blackhole(),
  rule('block', `domain_suffix = ["${BLOCKED}"]`),
].join('\n');

test('SOCKS reply codes differ for refused, unreachable and blocked', async (t) => {
  // A flow to an address is granted before its first bytes are read when a name could matter, so
  // the plain refusals need an inbound that does not sniff.
  await using weir = await Weir.start(CONFIG.replaceAll('port = 0', 'port = 0\nsniffing = false'));
  const socks = weir.address('socks');
  const closed = await freePort();
  const replies = {
    refused: await socksReply(socks, { host: '127.0.0.1', port: closed }),
    unreachable: await socksReply(socks, { host: UNREACHABLE, port: 80 }),
    blocked: await socksReply(socks, { host: BLOCKED, port: 80 }),
  };
  await t.test('refused is 0x05', () => assert.equal(replies.refused, 0x05));
  await t.test('unreachable is 0x03 or 0x04', () =>
    assert.ok([0x03, 0x04].includes(replies.unreachable), `0x0${replies.unreachable}`),
  );
  await t.test('blocked is 0x02', () => assert.equal(replies.blocked, 0x02));
  await t.test('SOCKS4 has one refusal, 91', async () => {
    const target = { host: '127.0.0.1', port: closed };
    assert.equal(await socksReply(socks, target, { version: '4' }), 91);
    assert.equal(await socksReply(socks, { host: BLOCKED, port: 80 }, { version: '4a' }), 91);
  });
  await t.test('an HTTP client gets a gateway error or a refusal', async () => {
    const http = weir.address('http');
    assert.match(String(await connectStatus(weir, `127.0.0.1:${closed}`)), /^50[234]$/);
    assert.match(String(await connectStatus(weir, `${UNREACHABLE}:80`)), /^50[234]$/);
    assert.match(String(await connectStatus(weir, `${BLOCKED}:80`)), /^(403|50[234])$/);
    const socket = await open(http);
    const get = `GET http://127.0.0.1:${closed}/ HTTP/1.1\r\nHost: 127.0.0.1:${closed}\r\n\r\n`;
    assert.match(String((await ask(socket, get)).status), /^50[234]$/);
    socket.destroy();
  });
});

test('a resolver that fails is 0x04 over SOCKS and 502 over HTTP', async (t) => {
  // Nothing listens there, which the kernel reports at once.
  const dns = `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${await freePort()}"\n`;
  await using weir = await Weir.start(CONFIG + dns);
  const target = { host: 'origin.example', port: 80 };
  await t.test('SOCKS', async () =>
    assert.equal(await socksReply(weir.address('socks'), target), 0x04),
  );
  await t.test('HTTP', async () =>
    assert.equal(await connectStatus(weir, `${target.host}:${target.port}`), 502),
  );
});

test('unsupported SOCKS requests are refused with their reply codes', async (t) => {
  const config = [socksIn(), socksIn('no-udp', '[inbound.settings]\nudp = false'), freedom()].join(
    '\n',
  );
  await using weir = await Weir.start(config);
  const target = { host: '127.0.0.1', port: 80 };
  const replyTo = async (inbound: string, command: number): Promise<number> => {
    using socket = disposable(await open(weir.address(inbound)));
    await greet5(socket);
    try {
      await request5(socket, command, target);
      return 0;
    } catch (error) {
      if (error instanceof SocksRefused) return error.reply;
      throw error;
    }
  };
  await t.test('BIND is 0x07', async () => assert.equal(await replyTo('socks', COMMAND.bind), 7));
  await t.test('an unknown command is 0x07', async () =>
    assert.equal(await replyTo('socks', 0x55), 7),
  );
  await t.test('UDP ASSOCIATE where udp = false is 0x07', async () =>
    assert.equal(await replyTo('no-udp', COMMAND.associate), 7),
  );
  await t.test('no method in common is 0xff', async () => {
    using socket = disposable(await open(weir.address('socks')));
    socket.write(Buffer.from([5, 1, 0x80]));
    assert.deepEqual([...((await readUpTo(socket, 2)) ?? [])], [5, 0xff]);
    await readAll(socket);
  });
});

test('SOCKS with a password accepts only clients with a valid login', async (t) => {
  const accounts =
    '{ user = "ann", pass = "old" }, { user = "ann", pass = "new" }, { user = "bob", pass = "b" }';
  const settings = `[inbound.settings]\nauth = "password"\naccounts = [${accounts}]`;
  const empty = '[inbound.settings]\nauth = "password"';
  await using echo = await echoServer();
  await using weir = await Weir.start(
    [socksIn('socks', settings), socksIn('empty', empty), freedom()].join('\n'),
  );
  const socks = weir.address('socks');
  const cases = [
    ['a known user', { user: 'bob', pass: 'b' }, true],
    ['the last password of a repeated user', { user: 'ann', pass: 'new' }, true],
    ['an earlier password of a repeated user', { user: 'ann', pass: 'old' }, false],
    ['a wrong password', { user: 'bob', pass: 'c' }, false],
    ['another case of the name', { user: 'Bob', pass: 'b' }, false],
    ['no login', {}, false],
    ['SOCKS4', { version: '4' }, false],
  ] as const;
  for (const [name, options, accepted] of cases) {
    await t.test(`${name} is ${accepted ? 'accepted' : 'rejected'}`, async () => {
      const before = echo.accepted();
      const connected = await socksConnect(socks, echo.target, options).then(
        async (socket) => {
          const back = String(await roundTrip(socket, 'hi'));
          socket.destroy();
          return back === 'hi';
        },
        () => false,
      );
      assert.equal(connected, accepted);
      assert.equal(echo.accepted() - before, accepted ? 1 : 0);
    });
  }
  await t.test('an association needs the password as well', async () => {
    await assert.rejects(UdpAssociation.open(socks));
    (await UdpAssociation.open(socks, { user: 'bob', pass: 'b' }))[Symbol.dispose]();
  });
  await t.test('an empty list rejects every client', async () => {
    const address = weir.address('empty');
    await assert.rejects(socksConnect(address, echo.target, { user: 'bob', pass: 'b' }));
  });
});

test('HTTP with accounts responds 407 without a login', async (t) => {
  const accounts = 'accounts = [{ user = "ann", pass = "a:b" }]';
  await using echo = await echoServer();
  await using web = await webServer();
  await using weir = await Weir.start(
    httpIn('http', `[inbound.settings]\n${accounts}`) + freedom(),
  );
  const http = weir.address('http');
  const login = (text: string): string =>
    `Proxy-Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
  const authority = `127.0.0.1:${echo.port}`;

  await t.test('CONNECT without a login', async () => {
    const { status, headers, socket } = await httpConnect(http, authority);
    assert.equal(status, 407);
    assert.match(headers.get('proxy-authenticate') ?? '', /^Basic realm=/i);
    socket.destroy();
  });
  await t.test('CONNECT with a wrong login', async () => {
    const { status, socket } = await httpConnect(http, authority, login('ann:a'));
    assert.equal(status, 407);
    socket.destroy();
  });
  await t.test('CONNECT with the right login', async () => {
    const { status, socket } = await httpConnect(http, authority, login('ann:a:b'));
    assert.equal(status, 200);
    assert.equal(String(await roundTrip(socket, 'hi')), 'hi');
    socket.destroy();
  });
  await t.test('GET without a login, and with it on the same connection', async () => {
    using socket = disposable(await open(http));
    const get = (extra: string): string =>
      `GET http://127.0.0.1:${web.port}/hello HTTP/1.1\r\nHost: 127.0.0.1:${web.port}\r\n${extra}\r\n`;
    const first = await ask(socket, get(''));
    assert.equal(first.status, 407);
    const length = Number(first.headers.get('content-length') ?? '0');
    if (first.headers.get('connection')?.toLowerCase() === 'close') return;
    await readUpTo(socket, length);
    assert.equal((await ask(socket, get(login('ann:a:b')))).status, 200);
  });
});

test('origin-form requests need allow_transparent', async (t) => {
  await using web = await webServer();
  const open_ = '[inbound.settings]\nallow_transparent = true';
  await using weir = await Weir.start(httpIn() + httpIn('open', open_) + freedom());
  const get = `GET /hello HTTP/1.1\r\nHost: 127.0.0.1:${web.port}\r\n\r\n`;
  for (const [inbound, status] of [
    ['http', 400],
    ['open', 200],
  ] as const) {
    await t.test(`${inbound} responds ${status}`, async () => {
      using socket = disposable(await open(weir.address(inbound)));
      assert.equal((await ask(socket, get)).status, status);
    });
  }
});

async function connectStatus(weir: Weir, authority: string): Promise<number> {
  const { status, socket } = await httpConnect(weir.address('http'), authority);
  socket.destroy();
  return status;
}
