import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { hostPort, open, parseAddress, type Address } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { errorOf } from '../support/process/control.ts';
import { freePort } from '../support/ports.ts';
import { roundTrip } from '../support/read.ts';
import { bannerServer, echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';

const REST = socksIn() + freedom();

const api = (listen: string, secret?: string): string =>
  `[api]\nlisten = ${JSON.stringify(listen)}\n${secret === undefined ? '' : `secret = "${secret}"\n`}${REST}`;

/** A process with a configuration that is rewritten and reloaded by a signal. */
class Subject implements AsyncDisposable {
  readonly weir: Weir;

  private constructor(weir: Weir) {
    this.weir = weir;
  }

  static async start(config: string): Promise<Subject> {
    return new Subject(await Weir.start(config));
  }

  write(config: string): Promise<void> {
    return writeFile(join(this.weir.folder, 'weir.toml'), config);
  }

  /** Writes, reloads by signal, and waits for a line of the log after that. */
  async reload(config: string, line: string | RegExp): Promise<string> {
    const before = this.weir.child.stderr.length;
    await this.write(config);
    this.weir.child.signal('SIGHUP');
    return this.logged(line, before);
  }

  /** Waits for a line of the log; returns its first group, or all of it. */
  logged(line: string | RegExp, from = 0): Promise<string> {
    const pattern =
      typeof line === 'string' ? new RegExp(`^\\S+Z ${RegExp.escape(line)}$`, 'm') : line;
    return this.weir.child.until(String(line), ({ stderr }) => {
      const found = pattern.exec(stderr.slice(from));
      return found ? (found[1] ?? found[0]) : undefined;
    });
  }

  count(text: string): number {
    return this.weir.child.stderr.split(text).length - 1;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.weir[Symbol.asyncDispose]();
  }
}

const LISTENING = /^\S+Z  INFO svc_app: API listening on (\S+)$/m;
const STOPPED = ' INFO svc_app: API stopped: the config no longer has [api]';

const health = async (where: Address | string, token?: string): Promise<number> => {
  const address = typeof where === 'string' ? parseAddress(where) : where;
  return (await new ApiClient(address, token).get('/v1/health')).status;
};

const refuses = (where: string): Promise<void> =>
  assert.rejects(open(parseAddress(where)), /ECONNREFUSED|ENOENT/);

describe('the listener of the API', { concurrency: 3 }, () => {
  test('exists exactly while the configuration has [api]', async () => {
    await using it = await Subject.start(REST);
    assert.equal(it.count('API'), 0);
    const where = await it.reload(api('127.0.0.1:0'), LISTENING);
    assert.match(where, /^127\.0\.0\.1:[1-9]\d*$/);
    assert.equal(await health(where), 200);
    await it.reload(REST, STOPPED);
    await refuses(where);
    const again = await it.reload(api('[::1]:0'), LISTENING);
    assert.match(again, /^\[::1\]:[1-9]\d*$/);
    assert.equal(await health(again), 200);
  });

  test('is bound anew at the same address when the secret changes, and the old secret is then 401', async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    await using it = await Subject.start(api(listen));
    assert.equal(await it.logged(LISTENING), listen);
    assert.equal(await health(listen), 200);
    await it.reload(api(listen, 'one'), LISTENING);
    assert.deepEqual([await health(listen), await health(listen, 'one')], [401, 200]);
    await it.reload(api(listen, 'two'), LISTENING);
    assert.deepEqual([await health(listen, 'one'), await health(listen, 'two')], [401, 200]);
    assert.equal(it.count(`API listening on ${listen}`), 3);
    assert.equal(it.count('API stopped'), 0);
  });

  test('moves to another address, TCP or unix, and leaves the old one', async () => {
    await using folder = await scratch();
    await using it = await Subject.start(api('127.0.0.1:0'));
    const first = await it.logged(LISTENING);
    const path = join(folder.path, 'api.sock');
    assert.equal(await it.reload(api(path), LISTENING), path);
    await refuses(first);
    assert.equal(await health(path), 200);
    const last = await it.reload(api('127.0.0.1:0'), LISTENING);
    await refuses(path);
    assert.equal(await health(last), 200);
  });

  test('finishes the request of the reload that changes it', async () => {
    await using it = await Subject.start(api('127.0.0.1:0', 'one'));
    const first = await it.logged(LISTENING);
    const client = new ApiClient(parseAddress(first), 'one');
    await it.write(api('127.0.0.1:0', 'two'));
    const reply = await client.ask('POST', '/v1/reload');
    assert.equal(reply.status, 200);
    const report = JSON.parse(reply.text) as { status: string; built: readonly string[] };
    assert.deepEqual([report.status, report.built], ['applied', []]);
    const second = await it.weir.child.until(
      'the second listener',
      ({ stderr }) => stderr.match(new RegExp(LISTENING, 'gm'))?.[1]?.split(' on ')[1],
    );
    await eventually('the old listener to be gone', () =>
      refuses(first).then(
        () => true,
        () => false,
      ),
    );
    assert.equal(await health(second, 'two'), 200);
    await it.write(REST);
    const removal = await new ApiClient(parseAddress(second), 'two').ask('POST', '/v1/reload');
    assert.equal(removal.status, 200);
    await it.logged(STOPPED);
    await refuses(second);
  });

  test('stays as it is when a reload is refused, also one that refuses [api], or changes nothing', async () => {
    await using it = await Subject.start(api('127.0.0.1:0'));
    const where = await it.logged(LISTENING);
    const client = new ApiClient(parseAddress(where));
    const cases: readonly [config: string, error: string][] = [
      [api('127.0.0.1:0', ''), '[api] secret is empty'],
      [
        api('0.0.0.0:0'),
        '[api] listen 0.0.0.0:0: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one',
      ],
      ['[api]\nlisten = "127.0.0.1:0"\nsecret = "x"\n', 'config defines no outbounds'],
    ];
    for (const [config, error] of cases) {
      await it.write(config);
      const reply = await client.ask('POST', '/v1/reload');
      assert.deepEqual([reply.status, errorOf(reply)], [422, error]);
    }
    await it.write(`# a comment\n${api('127.0.0.1:0')}`);
    assert.equal((await client.ask('POST', '/v1/reload')).status, 200);
    assert.equal(await health(where), 200);
    assert.equal(it.count('API listening'), 1);
  });

  test('that cannot be bound at the start ends the process', async (t) => {
    await using holder = await bannerServer('taken');
    const taken = `127.0.0.1:${holder.port}`;
    const cases = [
      [taken, `API on ${taken}: address already in use`],
      ['/nowhere/api.sock', 'API on /nowhere/api.sock: no such file or directory'],
    ] as const;
    for (const [listen, text] of cases) {
      await t.test(listen, async () => {
        await using weir = await Weir.launch(api(listen));
        const exit = await within(weir.child.exited, 'the end of the process');
        assert.deepEqual(exit, { code: 1, signal: null });
        assert.match(
          weir.child.stderr,
          new RegExp(`^\\S+Z ERROR svc_app: failed to start: ${RegExp.escape(text)}$`, 'm'),
        );
        assert.doesNotMatch(weir.child.stderr, /API listening/);
      });
    }
  });

  test('that cannot be bound on a reload stays off until [api] changes, and the proxy continues', async () => {
    await using echo = await echoServer();
    await using it = await Subject.start(api('127.0.0.1:0'));
    const first = await it.logged(LISTENING);
    const taken = `127.0.0.1:${echo.port}`;
    const failure = `ERROR svc_app: API on ${taken}: address already in use; it stays off until [api] changes`;
    await it.reload(api(taken), failure);
    await refuses(first);
    const socket = await socksConnect(it.weir.address('socks'), echo.target);
    await roundTrip(socket, 'still here');
    socket.destroy();
    // A reload of something else does not try again.
    await it.reload(`${api(taken)}${freedom('other')}`, /config reloaded: (.*)$/m);
    assert.equal(it.count('it stays off until'), 1);
    const second = await it.reload(api('127.0.0.1:0'), LISTENING);
    assert.equal(await health(second), 200);
  });

  test('replaces a socket file of a dead process, and no other file', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, 'api.sock');
    // A process that dies without a chance to take its socket away.
    await using dying = new Child(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('bound'))`,
    ]);
    await dying.until('its socket', ({ stdout }) => (stdout.includes('bound') ? true : undefined));
    await t.test('not while it lives', async () => {
      await using weir = await Weir.launch(api(path));
      assert.equal((await within(weir.child.exited, 'the end')).code, 1);
      assert.match(weir.child.stderr, /failed to start: API on .*: address already in use$/m);
    });
    dying.signal('SIGKILL');
    await dying.exited;
    await t.test('once it is dead', async () => {
      await using it = await Subject.start(api(path));
      await it.logged(LISTENING);
      assert.equal(await health({ path }), 200);
    });
    await t.test('not a file of another kind, nor what a link names', async () => {
      for (const name of ['plain', 'link']) {
        const file = join(folder, name);
        await (name === 'plain' ? writeFile(file, 'mine') : symlink('plain', file));
        await using weir = await Weir.launch(api(file));
        assert.equal((await within(weir.child.exited, 'the end')).code, 1);
        assert.match(weir.child.stderr, /: address already in use$/m);
      }
    });
  });

  test('may be a path relative to the working directory', async () => {
    await using folder = await scratch();
    await writeFile(join(folder.path, 'weir.toml'), api('./api.sock'));
    await using child = weirCommand(['run', '--config', 'weir.toml'], { cwd: folder.path });
    await child.until('the API', ({ stderr }) =>
      / API listening on \.\/api\.sock$/m.test(stderr) ? true : undefined,
    );
    assert.equal(await health({ path: join(folder.path, 'api.sock') }), 200);
  });

  test('ends first when the process stops, at once when nothing is under way, and without a warning', async () => {
    await using echo = await echoServer();
    await using it = await Subject.start(api('127.0.0.1:0'));
    const where = await it.logged(LISTENING);
    assert.equal(await health(where), 200);
    const socket = await socksConnect(it.weir.address('socks'), echo.target);
    await roundTrip(socket, 'a connection');
    it.weir.child.signal('SIGTERM');
    await it.logged(' INFO svc_app: shutting down');
    await eventually('the API to be gone', () =>
      refuses(where).then(
        () => true,
        () => false,
      ),
    );
    // The connection has its grace, and its end is the end of the process.
    await roundTrip(socket, 'continues');
    socket.destroy();
    assert.deepEqual(await within(it.weir.child.exited, 'the end'), { code: 0, signal: null });
    assert.equal(it.count('requests still in flight'), 0);
  });

  test('lets a request under way finish for five seconds when it stops, then drops it with a warning', async () => {
    await using it = await Subject.start(api('127.0.0.1:0'));
    const where = await it.logged(LISTENING);
    const client = new ApiClient(parseAddress(where));
    // A stream of events never ends by itself, and so is under way for as long as it may be.
    using events = await client.events('/v1/connections/events');
    it.weir.child.signal('SIGTERM');
    await it.logged(' INFO svc_app: shutting down');
    assert.equal(await events.next(), undefined);
    assert.deepEqual(await within(it.weir.child.exited, 'the end'), { code: 0, signal: null });
    await it.logged(' WARN svc_app: API: requests still in flight when it stopped were dropped');
  });
});

test('--test reports what is wrong with [api] and binds nothing', { concurrency: 2 }, async (t) => {
  await using holder = await bannerServer('taken');
  await using folder = await scratch();
  const needsSecret = (listen: string): string =>
    `[api] listen ${listen}: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one`;
  const badListen = (listen: string): string =>
    `[api] listen "${listen}": expected ip:port, or a path (containing a /) for a unix socket`;
  const invalid: readonly [lines: string, message: string][] = [
    ['listen = "0.0.0.0:9090"', needsSecret('0.0.0.0:9090')],
    ['listen = "[::ffff:127.0.0.1]:9090"', needsSecret('[::ffff:127.0.0.1]:9090')],
    ['secret = ""', '[api] secret is empty'],
    ['listen = "0.0.0.0:9090"\nsecret = ""', '[api] secret is empty'],
    ['listen = "localhost:9090"\nsecret = "x"', badListen('localhost:9090')],
    ['listen = "api.sock"', badListen('api.sock')],
    ['listen = ""\nsecret = ""', badListen('')],
    ['port = 1', 'TOML parse error at line 2'],
  ];
  const valid = [
    '',
    `listen = "127.0.0.1:${holder.port}"`,
    `listen = "${join(folder.path, 'no/such/folder.sock')}"`,
  ];
  const run = async (index: number, lines: string): Promise<Child> => {
    const file = join(folder.path, `${index}.toml`);
    await writeFile(file, `[api]\n${lines}\n${REST}`);
    return runWeir(['--test', '--config', file]);
  };
  const cases = [...invalid, ...valid.map((lines) => [lines, undefined] as const)];
  const checks = cases.map(([lines, message], index) =>
    t.test(JSON.stringify(lines), async () => {
      const { stdout, stderr, exited } = await run(index, lines);
      if (message === undefined) {
        assert.deepEqual(
          [stdout, stderr, await exited],
          ['Configuration OK.\n', '', { code: 0, signal: null }],
        );
        return;
      }
      const [line = ''] = stderr.split('\n');
      const text = line.replace(/^\S+Z /, '');
      if (message.startsWith('TOML'))
        assert.ok(text.startsWith(`ERROR svc_app: configuration invalid: ${message}`), text);
      else assert.equal(text, `ERROR svc_app: configuration invalid: ${message}`);
      assert.deepEqual([stdout, await exited], ['', { code: 1, signal: null }]);
    }),
  );
  await Promise.all(checks);
});

test('a process of only [api] listens at the default address, without a secret', async (t) => {
  const probe = createServer();
  probe.listen(9090, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return t.skip('port 9090 is taken on this machine');
  } finally {
    probe.close();
  }
  await using it = await Subject.start(`[api]\n${freedom()}`);
  assert.equal(await it.logged(LISTENING), hostPort({ host: '127.0.0.1', port: 9090 }));
  assert.equal(await health('127.0.0.1:9090'), 200);
});
