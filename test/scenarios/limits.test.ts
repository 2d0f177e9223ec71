import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestAllLimits, requestReload, requestStatus } from '@weir/server/control';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { socksConnect, SocksRefused } from '../support/peers/socks-client.ts';
import { discardServer, tcpServer } from '../support/peers/servers.ts';
import { open } from '../support/data/address.ts';
import { readHead, readUpTo } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

const ACCOUNTS = 'accounts = [{ user = "ann", pass = "x" }, { user = "bob", pass = "x" }]';
const CONFIG =
  socksIn('socks', `[inbound.settings]\nauth = "password"\n${ACCOUNTS}`) +
  httpIn('http', `[inbound.settings]\n${ACCOUNTS}`) +
  freedom();
const ANN = { user: 'ann', pass: 'x' };

const bytesOf = (bytes: number): string => `[[limit]]\nuser = "ann"\nbytes = "${bytes} B"\n`;

async function limited(limits: string) {
  const folder = await scratch();
  const file = join(folder.path, 'limits.toml');
  await writeFile(file, limits);
  const start = () => Weir.start(CONFIG, { control: true, args: ['--limits', file] });
  return {
    file,
    stateFile: join(folder.path, 'limits.state.json'),
    start,
    write: (text: string) => writeFile(file, text),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Sends what a server sends, however much. */
const source = (bytes: number) =>
  tcpServer((socket) => void socket.resume().end(Buffer.alloc(bytes, 7)));

/** Waits for the close of a connection, clean or not. */
const closeOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) =>
    socket
      .on('close', resolve)
      .on('error', () => undefined)
      .resume(),
  );

const isRefused = (reply: number) => (error: unknown) =>
  error instanceof SocksRefused && error.reply === reply;

test('an account is closed at its bytes, refused in the way of the protocol, and works again when the file allows it', async () => {
  await using setup = await limited(bytesOf(1_000_000));
  await using weir = await setup.start();
  await using origin = await source(3_000_000);
  const socket = await socksConnect(weir.address('socks'), origin.target, ANN);
  socket.on('error', () => undefined);
  let received = 0;
  socket.on('data', ({ length }: Buffer) => (received += length));
  await closeOf(socket);
  assert.ok(received <= 1_000_000, String(received));
  const { accounts, events } = await requestAllLimits(weir.controlPath);
  assert.deepEqual(
    accounts.map(({ user, state, used, left }) => ({ user, state, used, left })),
    [{ user: 'ann', state: 'bytes', used: 1_000_000, left: 0 }],
  );
  assert.deepEqual(
    events.map(({ user, state, closed }) => ({ user, state, closed })),
    [{ user: 'ann', state: 'bytes', closed: 1 }],
  );
  await assert.rejects(socksConnect(weir.address('socks'), origin.target, ANN), isRefused(0x02));
  const client = await open(weir.address('http'));
  const login = Buffer.from('ann:x').toString('base64');
  client.write(
    `CONNECT 127.0.0.1:${origin.port} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
  );
  assert.match(await readHead(client), /^HTTP\/1\.1 403 /);
  client.destroy();
  (await socksConnect(weir.address('socks'), origin.target, { user: 'bob', pass: 'x' })).destroy();
  const status = await requestStatus(weir.controlPath);
  assert.equal(status.flows_limited, 2);
  assert.deepEqual(
    status.account_limits?.reached.map(({ user }) => user),
    ['ann'],
  );
  const { stdout } = await runWeir(['status', '--socket', weir.controlPath]);
  assert.match(stdout, /^limits: 1 account, 1 at a limit, 2 flows refused$/m);
  assert.match(stdout, /^ann +bytes +1\.0 MB +1\.0 MB/m);
  assert.match(weir.child.stderr, /account "ann" has used its 1\.0 MB; 1 flow closed\n/);

  // Without a reload: the file is watched.
  await setup.write(bytesOf(2_000_000));
  await weir.child.until('the account works again', ({ stderr }) =>
    stderr.includes('account "ann" works again') ? true : undefined,
  );
  (await socksConnect(weir.address('socks'), origin.target, ANN)).destroy();
});

test('what an account has used survives a kill', async () => {
  await using setup = await limited(bytesOf(1_000_000));
  await using origin = await source(600_000);
  let used = 0;
  {
    await using weir = await setup.start();
    const socket = await socksConnect(weir.address('socks'), origin.target, ANN);
    socket.on('error', () => undefined);
    await readUpTo(socket, 600_000);
    socket.destroy();
    await eventually('the flow has ended', async () => {
      const [account] = (await requestAllLimits(weir.controlPath)).accounts;
      used = account?.used ?? 0;
      return account?.flows === 0 && used >= 600_000;
    });
    await eventually('the bytes are stored', async () => {
      const { accounts } = JSON.parse(await readFile(setup.stateFile, 'utf8')) as {
        accounts: { up: number; down: number }[];
      };
      return accounts[0] !== undefined && accounts[0].up + accounts[0].down === used;
    });
    await weir.stop('SIGKILL');
  }
  await using next = await setup.start();
  assert.equal((await requestAllLimits(next.controlPath)).accounts[0]?.used, used);
});

test('an invalid limits file is refused at the start and by --test, and keeps the limits in a reload', async () => {
  await using setup = await limited('[[limit]]\nuser = "ann"\nbytes = "1 Gb"\n');
  const args = ['--limits', setup.file];
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  await writeFile(config, CONFIG);
  for (const test_ of [[], ['--test']]) {
    const { ended, stderr } = await runWeir(['run', '--config', config, ...args, ...test_]);
    assert.equal(ended?.code, 1);
    assert.match(stderr, /invalid value: "1 Gb" is not an amount of bytes/);
    assert.match(stderr, /limits\.toml:3:9/);
    assert.match(stderr, /hint: kB, MB, GB and TB are powers of 1000/);
  }
  await setup.write(bytesOf(5));
  await using weir = await setup.start();
  await using origin = await discardServer();
  await setup.write('[[limit]]\n');
  const outcome = await requestReload(weir.controlPath);
  assert.equal(outcome.kind, 'failed');
  assert.match(outcome.line, /a limit needs the name of an account/);
  const socket = await socksConnect(weir.address('socks'), origin.target, ANN);
  socket.write('123456');
  await closeOf(socket);
  assert.equal((await requestAllLimits(weir.controlPath)).accounts[0]?.used, 5);
});
