import assert from 'node:assert/strict';
import { chmod, chown, lchown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { findSocket, liveSockets } from '../../packages/client/src/client/find-serving.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';
import { eventually, within } from '../support/wait.ts';

const CONFIG = socksIn() + freedom();

/** A runtime folder, in which Weirs open their control sockets. */
async function runtime() {
  const folder = await scratch();
  const sockets = join(folder.path, 'weir');
  const env = { XDG_RUNTIME_DIR: folder.path, WEIR_SOCKET: undefined, RUST_LOG: 'debug' };
  // No service of this machine takes part.
  const search = { socket: undefined, env, serviceFolder: join(folder.path, 'none') };
  return {
    sockets,
    env,
    search,
    start: (config = CONFIG) => Weir.start(config, { control: 'default', env }),
    pathOf: (weir: Weir) => join(sockets, `${weir.pid}.sock`),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a control socket in the default place is found, and removed at the end', async () => {
  await using it = await runtime();
  await using weir = await it.start();
  const path = it.pathOf(weir);
  await eventually('the socket', () => existsSync(path));
  assert.equal(statSync(it.sockets).mode & 0o777, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(await findSocket(it.search), path);
  const reloaded = await runWeir(['reload'], { env: it.env });
  assert.deepEqual([reloaded.ended?.code, reloaded.stderr], [0, '']);
  await weir.stop();
  assert.deepEqual(readdirSync(it.sockets), []);
});

test('several running Weirs are listed, and one is chosen by --socket or WEIR_SOCKET', async () => {
  await using it = await runtime();
  await using one = await it.start();
  await using two = await it.start();
  const paths = [one, two].map(it.pathOf);
  await eventually('both sockets', () => paths.every((path) => existsSync(path)));
  const { env } = it;
  const unclear = await runWeir(['reload'], { env });
  assert.equal(unclear.ended?.code, 1);
  assert.match(unclear.stderr, /^weir reload: 2 running Weirs have a control socket; .*--socket/);
  for (const weir of [one, two]) {
    const listed = `${it.pathOf(weir)}  pid ${weir.pid}, ${join(weir.folder, 'weir.toml')}, started `;
    assert.ok(unclear.stderr.includes(listed), unclear.stderr);
  }
  const [path = ''] = paths;
  assert.equal((await runWeir(['reload', '--socket', path], { env })).ended?.code, 0);
  const chosen = { ...env, WEIR_SOCKET: path };
  assert.equal((await runWeir(['reload'], { env: chosen })).ended?.code, 0);
});

test('weir ctl finds the only Weir and its secret, and of several the one that is named', async () => {
  await using it = await runtime();
  const { env } = it;
  const withTag = (tag: string): string =>
    `[api]\nlisten = "127.0.0.1:0"\nsecret = "of ${tag}"\n\n${socksIn()}${freedom(tag)}`;
  const targetsOf = async (...args: string[]): Promise<string> => {
    const { ended, stdout, stderr } = await runWeir(
      ['ctl', 'routes', '--names', 'targets', ...args],
      {
        env: { ...env, WEIR_API: undefined },
      },
    );
    assert.equal(ended?.code, 0, stderr);
    return stdout.split('\n')[0] ?? '';
  };
  await using one = await it.start(withTag('one'));
  await eventually('the socket', () => existsSync(it.pathOf(one)));
  assert.equal(await targetsOf(), 'one');
  await using two = await it.start(withTag('two'));
  await eventually('the other socket', () => existsSync(it.pathOf(two)));
  assert.equal(await targetsOf('--socket', it.pathOf(two)), 'two');
  assert.equal(await targetsOf('--config', join(one.folder, 'weir.toml')), 'one');
  const unclear = await runWeir(['ctl', 'close', '--all'], { env });
  assert.equal(unclear.ended?.code, 1);
  assert.match(unclear.stderr, /^weir ctl: 2 running Weirs have a control socket/);
});

test('sockets of ended processes are ignored, and removed by the next start', async () => {
  await using it = await runtime();
  await using killed = await it.start();
  const path = it.pathOf(killed);
  await eventually('the socket', () => existsSync(path));
  killed.child.signal('SIGKILL');
  await within(killed.child.exited, 'the end');
  assert.ok(existsSync(path));
  assert.equal(await findSocket(it.search), undefined);
  await using weir = await it.start();
  await eventually('only the new socket', () => !existsSync(path) && existsSync(it.pathOf(weir)));
});

test('sockets one level below are found; foreign ones are not', async () => {
  await using it = await runtime();
  const below = join(it.sockets, 'instance');
  await mkdir(below, { recursive: true, mode: 0o700 });
  const args = ['--reload-socket', join(below, 'reload.sock')];
  await using weir = await Weir.start(CONFIG, { args });
  await eventually('the socket', () => existsSync(args[1] ?? ''));
  // Servers that leave, and respond with something else.
  const servers = [
    createServer((client) => client.destroy()),
    createServer((client) => client.end('{"version":"2"}\n')),
  ];
  for (const [index, server] of servers.entries()) {
    server.listen(join(it.sockets, `${index}.sock`));
    await once(server, 'listening');
  }
  await writeFile(join(it.sockets, 'file.sock'), '');
  const found = await liveSockets(it.search);
  for (const server of servers) server.close();
  assert.deepEqual(
    found.map(({ path, status }) => [path, status.pid, status.config]),
    [[args[1], weir.pid, join(weir.folder, 'weir.toml')]],
  );
});

test('a folder that others could write to is not used, and the start succeeds', async (t) => {
  await using it = await runtime();
  const tell = async (): Promise<string> => {
    await using weir = await it.start();
    await weir.child.until('the reason', () =>
      weir.child.stderr.includes('no control socket') ? true : undefined,
    );
    return weir.child.stderr;
  };
  await mkdir(it.sockets);
  await chmod(it.sockets, 0o777);
  assert.match(await tell(), /DEBUG svc_app: no control socket: .*\/weir can be written by others/);
  assert.equal(await findSocket(it.search), undefined);
  if (process.geteuid?.() === 0) {
    await chmod(it.sockets, 0o700);
    await chown(it.sockets, 12_345, 12_345);
    assert.match(await tell(), /no control socket: .*\/weir belongs to another user/);
  } else t.diagnostic('a folder of another user: only root can make one');
  assert.deepEqual(readdirSync(it.sockets), []);
});

test('--no-control-socket opens none', async () => {
  await using it = await runtime();
  const args = ['--no-control-socket'];
  await using weir = await Weir.start(CONFIG, { control: 'default', args, env: it.env });
  await weir.stop();
  assert.ok(!existsSync(it.sockets));
  const both = await runWeir(['run', '--no-control-socket', '--reload-socket', 'x']);
  assert.equal(both.ended?.code, 2);
});

test('root finds the socket of a service with a user of its own, and no other', async (t) => {
  if (process.geteuid?.() !== 0) {
    t.skip('only root can give a folder to another user');
    return;
  }
  await using it = await runtime();
  await using weir = await it.start();
  const path = it.pathOf(weir);
  await eventually('the socket', () => existsSync(path));
  const search = { socket: undefined, env: {}, serviceFolder: it.sockets };
  await chown(it.sockets, 12_345, 12_345);
  await chown(path, 12_345, 12_345);
  assert.equal(await findSocket(search), path);
  assert.equal(await findSocket(it.search), undefined, 'a folder of a user is not of a service');
  await chown(path, 23_456, 23_456);
  assert.equal(await findSocket(search), undefined);
});

test('a folder that a link of root leads to is used, and root finds the service of another user in it', async (t) => {
  await using it = await runtime();
  const real = join(it.env.XDG_RUNTIME_DIR, 'private');
  await mkdir(real, { mode: 0o700 });
  await symlink(real, it.sockets);
  await using weir = await it.start();
  const path = it.pathOf(weir);
  await eventually('the socket', () => existsSync(path));
  assert.equal(await findSocket(it.search), path);
  if (process.geteuid?.() !== 0) {
    t.diagnostic('a service of another user: only root can make one');
    return;
  }
  const search = { socket: undefined, env: {}, serviceFolder: it.sockets };
  await chown(real, 12_345, 12_345);
  await chown(path, 12_345, 12_345);
  assert.equal(await findSocket(search), path);
  await lchown(it.sockets, 12_345, 12_345);
  assert.equal(await findSocket(search), undefined, 'a link of another user');
});

test('commands that ask a process take the file that it serves, and no other process is meant', async () => {
  await using it = await runtime();
  await using one = await it.start();
  await using two = await it.start();
  await eventually('both sockets', () => [one, two].every((weir) => existsSync(it.pathOf(weir))));
  const { env } = it;
  const fileOf = ({ folder }: Weir): string => join(folder, 'weir.toml');
  const at = ['--config', fileOf(two)];
  const status = await runWeir(['status', '--json', ...at], { env });
  assert.equal((JSON.parse(status.stdout) as { pid: number }).pid, two.pid);
  assert.equal((await runWeir(['reload', ...at], { env })).ended?.code, 0);
  assert.match((await runWeir(['log', '--no-follow', ...at], { env })).stdout, /listening on/);
  assert.equal((await runWeir(['log-level', 'trace', ...at], { env })).ended?.code, 0);
  assert.equal((await runWeir(['drain', '--wait', '0s', ...at], { env })).ended?.code, 0);
  assert.match(two.child.stderr, /draining/);
  assert.doesNotMatch(one.child.stderr, /draining|log filter/);

  await two.stop();
  for (const command of [['status'], ['reload'], ['log'], ['log-level', 'warn'], ['drain']]) {
    const { ended, stderr } = await runWeir([...command, ...at], { env });
    assert.equal(ended?.code, 1);
    assert.match(stderr, /: no running Weir with a control socket serves .*weir\.toml\n/);
  }
  const other = [...at, '--socket', it.pathOf(one)];
  const refused = await runWeir(['drain', ...other], { env });
  assert.match(refused.stderr, /^weir drain: the Weir of .* serves .*, not /);
  assert.doesNotMatch(one.child.stderr, /draining/);
});
