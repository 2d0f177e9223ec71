import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { open, portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { NotifySocket } from '../support/peers/notify-socket.ts';
import { eventually, within } from '../support/wait.ts';
import { runWeir, scratch, Weir, type WeirOptions } from '../support/process/weir.ts';

const CONFIG = socksIn('one') + socksIn('two') + freedom();

/** A Weir below a manager that listens at a path, and its reload socket. */
async function start(config: string, env: WeirOptions['env'] = {}) {
  const folder = await scratch();
  const path = join(folder.path, 'notify');
  const manager = new NotifySocket(path);
  const reloadSocket = join(folder.path, 'reload.sock');
  const weir = await Weir.launch(config, {
    args: ['--reload-socket', reloadSocket],
    env: { NOTIFY_SOCKET: path, ...env },
  });
  return {
    manager,
    weir,
    reloadPath: reloadSocket,
    write: (text: string) => writeFile(join(weir.folder, 'weir.toml'), text),
    reload: () => runWeir(['reload', reloadSocket]),
    async [Symbol.asyncDispose]() {
      await weir[Symbol.asyncDispose]();
      manager[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const isSocket = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isSocket() === true;

for (const io of ['kernel', 'node']) {
  suite(`a service manager, with WEIR_IO=${io}`, () => {
    test('it learns that every listener accepts, of a stop, and what is served', async () => {
      await using it = await start(CONFIG, { WEIR_IO: io });
      const ready = await it.manager.until('READY');
      assert.equal(ready.get('MAINPID'), String(it.weir.pid));
      assert.equal(ready.get('STATUS'), 'serving 2 inbounds');
      await it.weir.child.until('both addresses', () =>
        it.weir.addresses.size === 2 ? true : undefined,
      );
      for (const tag of ['one', 'two']) (await open(it.weir.address(tag))).destroy();
      it.weir.child.signal('SIGTERM');
      await it.manager.until('STOPPING');
      assert.deepEqual(await within(it.weir.child.exited, 'the end'), { code: 0, signal: null });
    });
  });
}

test('a listener that cannot be bound leaves the manager without READY', async () => {
  await using other = await Weir.start(CONFIG);
  const address = other.address('one');
  await using it = await start(
    `${socksIn('one').replace('port = 0', `port = ${portOf(address)}`)}${freedom()}`,
  );
  const exit = await within(it.weir.child.exited, 'the end');
  assert.equal(exit.code, 1);
  assert.equal((await it.manager.next()).get('STATUS'), 'starting');
  assert.deepEqual(it.manager.waiting, []);
});

test('an invalid configuration has an exit status of its own below a manager', async () => {
  await using it = await start('[[inbound]]\n');
  assert.equal((await within(it.weir.child.exited, 'the end')).code, 78);
});

test('a reload that is applied begins and ends for the manager, and succeeds as a command', async () => {
  await using it = await start(CONFIG);
  await it.manager.until('READY');
  await it.write(CONFIG + socksIn('three'));
  const command = await it.reload();
  const began = await it.manager.next();
  assert.equal(began.get('RELOADING'), '1');
  assert.match(began.get('MONOTONIC_USEC') ?? '', /^\d+$/);
  const ended = await it.manager.next();
  assert.equal(ended.get('READY'), '1');
  assert.match(
    ended.get('STATUS') ?? '',
    /^serving 3 inbounds; last reload: applied, built inbound three/,
  );
  assert.equal(command.ended?.code, 0, command.stderr);
  assert.match(command.stdout, /^applied, built inbound three/);
});

test('a reload that is refused ends for the manager as well, and fails as a command', async () => {
  await using it = await start(CONFIG);
  await it.manager.until('READY');
  await it.write('[[inbound]]\n');
  it.weir.child.signal('SIGHUP');
  await it.manager.until('RELOADING');
  const ended = await it.manager.until('READY');
  assert.match(
    ended.get('STATUS') ?? '',
    /^serving 2 inbounds; last reload: reload: configuration invalid: /,
  );
  const again = await it.reload();
  assert.equal(again.ended?.code, 1);
  assert.match(again.stderr, /^reload: configuration invalid: /);
  assert.equal(again.stdout, '');
});

test('a reload that finds an address in use fails as a command, and the next one succeeds', async () => {
  await using other = await Weir.start(CONFIG);
  const address = other.address('one');
  await using it = await start(CONFIG);
  await it.manager.until('READY');
  const taken = socksIn('three').replace('port = 0', `port = ${portOf(address)}`);
  await it.write(CONFIG + taken);
  const refused = await it.reload();
  assert.equal(refused.ended?.code, 1);
  assert.match(
    refused.stderr,
    /^reload: inbound three: cannot listen on .*: address already in use/,
  );
  await it.write(CONFIG);
  assert.equal((await it.reload()).ended?.code, 0);
});

test('a watchdog gets signs of life, and none for another process', async () => {
  await using it = await start(CONFIG, { WATCHDOG_USEC: '100000' });
  await it.manager.until('READY');
  for (let i = 0; i < 3; i++) assert.equal((await it.manager.next()).get('WATCHDOG'), '1');
  await using other = await start(CONFIG, { WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' });
  await other.manager.until('READY');
  other.weir.child.signal('SIGTERM');
  assert.equal((await other.manager.next()).get('STOPPING'), '1');
});

test('an abstract socket is notified', async () => {
  const name = `@weir-test-${process.pid}`;
  using manager = new NotifySocket(name);
  await using weir = await Weir.launch(CONFIG, { env: { NOTIFY_SOCKET: name } });
  assert.equal((await manager.until('READY')).get('MAINPID'), String(weir.pid));
});

test('a manager that cannot be notified is one warning, and Weir serves', async () => {
  await using folder = await scratch();
  const gone = join(folder.path, 'gone');
  await using weir = await Weir.start(CONFIG, { env: { NOTIFY_SOCKET: gone } });
  await weir.stop();
  const warnings = weir.child.stderr.match(/WARN svc_app: service manager: .*$/gm) ?? [];
  assert.deepEqual(warnings, [
    `WARN svc_app: service manager: it cannot be notified: connect ENOENT ${gone}`,
  ]);
});

test('a socket of another family is left alone, which the debug log says', async () => {
  await using weir = await Weir.start(CONFIG, {
    env: { NOTIFY_SOCKET: 'vsock:2:1', RUST_LOG: 'debug' },
  });
  assert.match(
    weir.child.stderr,
    /DEBUG svc_app: service manager: NOTIFY_SOCKET=vsock:2:1 is ignored/,
  );
});

test('a reload without a process to carry it out fails and says why', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'reload.sock');
  const gone = await runWeir(['reload', path]);
  assert.equal(gone.ended?.code, 1);
  assert.match(gone.stderr, /^weir reload: no reload through .*: connect ENOENT /);
  const env = { XDG_RUNTIME_DIR: folder.path, WEIR_SOCKET: undefined };
  const unfound = await runWeir(['reload'], { env });
  assert.equal(unfound.ended?.code, 1);
  assert.match(unfound.stderr, /^weir reload: no running Weir has a control socket in /);
});

test("the reload socket is its owner's, replaces one that was left behind, and is removed", async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'reload.sock');
  const args = ['--reload-socket', path];
  {
    await using killed = await Weir.launch(CONFIG, { args });
    await eventually('the socket', () => isSocket(path));
    killed.child.signal('SIGKILL');
    await within(killed.child.exited, 'the end');
  }
  assert.ok(isSocket(path));
  await using weir = await Weir.start(CONFIG, { args });
  assert.equal((await runWeir(['reload', path])).ended?.code, 0);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await weir.stop();
  assert.equal(existsSync(path), false);
});

test('the log of a running process follows weir log-level', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'reload.sock');
  await using weir = await Weir.start(CONFIG, { args: ['--reload-socket', path] });
  const logLevel = (level: string) => runWeir(['log-level', '--socket', path, level]);
  assert.deepEqual((await logLevel('debug')).ended?.code, 0);
  await weir.child.until('the line about the filter', () =>
    /INFO svc_app: log filter: debug, until the next start/.test(weir.child.stderr)
      ? true
      : undefined,
  );
  assert.equal((await runWeir(['reload', path])).ended?.code, 0);
  await weir.child.until('a debug line', () =>
    /DEBUG svc_app::instance: reload: the files/.test(weir.child.stderr) ? true : undefined,
  );
  const refused = await logLevel('warning');
  assert.equal(refused.ended?.code, 1);
  assert.match(refused.stderr, /^weir log-level: "warning" is not a log filter: expected off, /);
  const missing = await runWeir(['log-level', '--socket', join(folder.path, 'none'), 'info']);
  assert.match(missing.stderr, /^weir log-level: no change of the log level through .*ENOENT/);
});

test('a reload says that a changed [log] has no effect until a restart', async () => {
  await using it = await start(CONFIG);
  await it.manager.until('READY');
  await it.write(`[log]\nlevel = "debug"\n${CONFIG}`);
  assert.equal((await it.reload()).ended?.code, 0);
  await it.weir.child.until('the warning', () =>
    /WARN svc_app::instance: \[log\] has changed: .* no effect until a restart/.test(
      it.weir.child.stderr,
    )
      ? true
      : undefined,
  );
});

test('a client that asks for anything unknown is disconnected', async () => {
  await using it = await start(CONFIG);
  await it.manager.until('READY');
  const socket = connect(it.reloadPath);
  socket.write('restart\n');
  await within(once(socket.resume(), 'close'), 'the end of the connection');
  assert.equal(socket.bytesRead, 0);
});
