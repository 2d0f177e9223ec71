import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import test from 'node:test';
import { userCommand } from '../../packages/weir/src/cli/users/user.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { API, Control } from '../support/process/control.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';

const ANN = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const BOB = '7d9f1b5e-0f60-4d0b-9a86-0b1f2c9f6a11';

const SERVER = `# my server
[[inbound]]
tag = "ids"
protocol = "vless"
port = 0
settings = { users = [
  { id = "${ANN}" }, # name: ann
] }

[[inbound]]
tag = "passwords"
protocol = "trojan"
port = 0
[inbound.settings]
users = [{ password = "secret of ann", email = "ann" }]

${freedom()}`;

/** `weir user` for the file of a running Weir. */
const userOf =
  (weir: Weir) =>
  async (...args: string[]) => {
    const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
    const [out, err]: [unknown[], unknown[]] = [[], []];
    io.stdout.on('data', (chunk) => out.push(chunk));
    io.stderr.on('data', (chunk) => err.push(chunk));
    const file = ['--config', join(weir.folder, 'weir.toml')];
    const to = args[0] === 'list' ? [] : ['--socket', weir.controlPath];
    const status = await userCommand([...args, ...file, ...to], io);
    return { status, stdout: out.join(''), stderr: err.join('') };
  };

const client = (server: Weir): string => {
  const ways: readonly [string, string, string, string][] = [
    ['ann-id', 'vless', 'ids', `id = "${ANN}"`],
    ['bob-id', 'vless', 'ids', `id = "${BOB}"`],
    ['ann-password', 'trojan', 'passwords', 'password = "secret of ann"'],
    ['bob-password', 'trojan', 'passwords', 'password = "secret of bob"'],
  ];
  const inbounds = ways.map(([tag]) => socksIn(tag)).join('');
  const outbounds = ways.map(([tag, protocol, inbound, settings]) =>
    proxyOut(`to-${tag}`, protocol, server.address(inbound), settings),
  );
  const rules = ways.map(([tag]) => rule(`to-${tag}`, `inbound_tag = ["${tag}"]`));
  return inbounds + outbounds.join('') + rules.join('');
};

test('users come and go in a running Weir, and flows of others go on', async (t) => {
  await using echo = await echoServer();
  await using server = await Weir.start(SERVER, { control: true });
  await eventually('the control socket', () => existsSync(server.controlPath));
  await using clients = await Weir.start(client(server));
  using stack = new DisposableStack();
  const user = userOf(server);
  const file = (): Promise<string> => readFile(join(server.folder, 'weir.toml'), 'utf8');
  const flowOf = async (tag: string) => {
    const socket = await socksConnect(clients.address(tag), echo.target);
    stack.defer(() => void socket.destroy());
    return socket;
  };
  const works = async (socket: Awaited<ReturnType<typeof flowOf>>): Promise<void> =>
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
  /** Whether a client of that account gets to the echo server. */
  const isServed = async (tag: string): Promise<boolean> => {
    const before = echo.accepted();
    try {
      const socket = await flowOf(tag);
      socket.write('hello');
      socket.end();
      await readAll(socket);
    } catch {
      return false;
    }
    return echo.accepted() > before;
  };

  const ann = { id: await flowOf('ann-id'), password: await flowOf('ann-password') };
  await works(ann.id);
  await works(ann.password);

  await t.test('a user is added, whose secret is printed only if it was made', async () => {
    assert.equal(await isServed('bob-id'), false);
    const added = await user('add', 'bob', '--inbound', 'ids', '--id', BOB, '--json');
    assert.equal(added.status, 0, added.stderr);
    assert.deepEqual(JSON.parse(added.stdout), {
      action: 'add',
      inbound: 'ids',
      protocol: 'vless',
      name: 'bob',
    });
    assert.match(added.stderr, / user add "bob" to inbound "ids", by .*: written; applied, /);
    const edited = 'edited: user add "bob" to inbound "ids", by ';
    await server.child.until('the cause', ({ stderr }) => stderr.includes(edited) || undefined);
    assert.equal(await isServed('bob-id'), true);
    await works(ann.id);
    const made = await user('add', 'cy', '--inbound', 'passwords');
    const [, secret = ''] = /^password (\S{24})\n$/.exec(made.stdout) ?? [];
    assert.ok(secret !== '' && (await file()).includes(secret));
    assert.ok(!`${server.child.stderr}${made.stderr}`.includes(secret), 'it is not logged');
  });

  await t.test('the users are listed without secrets', async () => {
    const { stdout } = await user('list');
    assert.deepEqual(
      stdout.split('\n').map((line) => line.split(/ +/)),
      [
        ['inbound', 'protocol', 'user'],
        ['ids', 'vless', 'ann'],
        ['ids', 'vless', 'bob'],
        ['passwords', 'trojan', 'ann'],
        ['passwords', 'trojan', 'cy'],
        [''],
      ],
    );
  });

  await t.test('a removed user keeps open flows, and gets no others', async () => {
    const removed = await user('remove', 'ann', '--inbound', 'ids');
    assert.equal(removed.status, 0, removed.stderr);
    await works(ann.id);
    assert.equal(await isServed('ann-id'), false);
    assert.equal(await isServed('bob-id'), true);
  });

  await t.test('open flows are counted before, and closed if asked', async () => {
    const bob = await flowOf('bob-id');
    await works(bob);
    const named = ['--inbound', 'passwords', '--close'];
    const dry = await user('remove', 'ann', ...named, '--dry-run');
    assert.equal(dry.stdout, '1 flow would be closed\n');
    await works(ann.password);
    const removed = await user('remove', 'ann', ...named);
    assert.equal(removed.stdout, '1 flow closed\n');
    await within(readAll(ann.password), 'the end of the flow');
    const unnamed = await user('remove', 'bob', '--inbound', 'ids', '--close', '--json');
    assert.equal((JSON.parse(unnamed.stdout) as { flows: number }).flows, 2, 'ann had one too');
    await within(readAll(bob), 'the end of the flow');
    await within(readAll(ann.id), 'the end of the flow');
  });

  await t.test('what is not done leaves the file as it is', async () => {
    const before = await file();
    for (const args of [
      ['add', 'cy', '--inbound', 'passwords'],
      ['add', 'x', '--inbound', 'ids', '--id', 'none'],
      ['add', 'x', '--inbound', 'passwords', '--dry-run'],
      ['remove', 'x', '--inbound', 'passwords'],
      ['remove', 'x', '--inbound', 'none'],
    ]) {
      const { status } = await user(...args);
      assert.equal(status, args.includes('--dry-run') ? 0 : 1);
      assert.equal(await file(), before, args.join(' '));
    }
  });

  await t.test('an edit that the running Weir refuses is taken back', async () => {
    await using taken = await echoServer();
    const port = String(taken.port);
    const changed = `${await file()}${socksIn('late').replace('port = 0', `port = ${port}`)}`;
    await writeFile(join(server.folder, 'weir.toml'), changed);
    const { status, stderr } = await user('add', 'dan', '--inbound', 'passwords');
    assert.equal(status, 1);
    assert.match(stderr, /has refused the edit, and .* is as it was: .*address already in use/i);
    assert.equal(await file(), changed);
  });
});

test('users that come and go at once, beside picks and --watch, leave every byte of others', async () => {
  const users = `settings.users = [
    { id = "${ANN}" } # name: ann
    # name: bob
  , { id = "${BOB}" }
    # the end
]`;
  const vless = `[[inbound]]\ntag = "ids"\nprotocol = "vless"\nport = 0\n${users}\n`;
  const text = (pick: string): string =>
    `${API}${vless}${freedom('a')}${freedom('b')}[route]\ndefault = "${pick}" # now\n`;
  await using server = await Weir.start(text('a'), { control: true, args: ['--watch'] });
  const control = await Control.of(server);
  const user = userOf(server);
  const names = ['cy', 'dan', 'eve', 'fay'];
  const edits = async (kind: 'add' | 'remove', picks: readonly string[]): Promise<void> => {
    const all = await Promise.all([
      ...names.map((name) => user(kind, name, '--inbound', 'ids')),
      ...picks.map(async (target) => {
        // Refused as out of date when a user came or went after the pick had read the file.
        for (;;) {
          const { status } = await control.api.pick('default', target);
          if (status !== 409) return { status: status === 200 ? 0 : status, stderr: '' };
        }
      }),
    ]);
    for (const { status, stderr } of all) assert.equal(status, 0, stderr);
  };
  await edits('add', ['b', 'a', 'b']);
  const { stdout } = await user('list');
  const listed = Array.from(stdout.matchAll(/vless +(\S+)/g), ([, name = '']) => name);
  assert.deepEqual(listed.toSorted(), ['ann', 'bob', ...names]);
  await edits('remove', ['a', 'b']);
  const left = await readFile(control.file, 'utf8');
  assert.ok([text('a'), text('b')].includes(left), left);
});

test('another file than that of the running Weir is not edited through it', async () => {
  await using server = await Weir.start(SERVER, { control: true });
  await eventually('the control socket', () => existsSync(server.controlPath));
  const other = join(server.folder, 'other.toml');
  await writeFile(other, SERVER);
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const args = ['add', 'bob', '--inbound', 'ids', '--config', other];
  const status = await userCommand([...args, '--socket', server.controlPath], io);
  assert.equal(status, 1);
  assert.match(
    String(io.stderr.read()),
    /serves .*weir\.toml, not .*other\.toml; nothing was done/,
  );
  assert.equal(await readFile(other, 'utf8'), SERVER);
});
