import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { isFree } from '../support/ports.ts';
import { bannerServer } from '../support/peers/servers.ts';
import { within } from '../support/wait.ts';
import { runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';

/** A line of the log: time with microseconds, the level in five places, the target. */
const LINE =
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (ERROR| WARN| INFO|DEBUG|TRACE) svc_app\S*: ./;

const VALID = socksIn() + freedom();

test('--version names the program and the version of package.json', async () => {
  const manifest = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string };
  const weir = await runWeir(['--version']);
  assert.equal(weir.stdout, `weir ${manifest.version}\n`);
  assert.deepEqual(await weir.exited, { code: 0, signal: null });
});

test('the path of the command before there were packages still starts it', async () => {
  const main = join(import.meta.dirname, '../../src/main.ts');
  await using weir = await Weir.start(VALID, { program: [process.execPath, main] });
  assert.deepEqual(await weir.stop(), { code: 0, signal: null });
});

/** Has a process take itself for one of Node 26.10.0, which the security release of 2026-10-21 came after. */
const OLDER_NODE = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"26.10.0"}})',
];

test('version --verbose has the Node, the date of its release, and later security releases', async () => {
  const lines = async (nodeArgs: readonly string[]): Promise<readonly string[]> => {
    const weir = await runWeir(['version', '--verbose'], { nodeArgs });
    assert.deepEqual(await weir.exited, { code: 0, signal: null });
    // Only a build or a checkout has a line of its commit.
    return weir.stdout.split('\n').filter((line) => !line.startsWith('commit: '));
  };
  const [, node, sockets, security] = await lines([]);
  const { version, platform, arch } = process;
  assert.match(
    node ?? '',
    new RegExp(`^node ${version} of 2\\d{3}-\\d\\d-\\d\\d, ${platform} ${arch}, OpenSSL `),
  );
  assert.match(sockets ?? '', /^sockets: /);
  assert.match(security ?? '', / of Node,? .*known on 2\d{3}-\d\d-\d\d/);
  const [, older, , later] = await lines(OLDER_NODE);
  assert.match(older ?? '', /^node v26\.10\.0 of 2026-09-22, /);
  assert.match(later ?? '', /^later security releases of Node, .*: .*26\.12\.1 \(2026-10-21\)$/);
});

test('a start on a Node that lacks a security release is warned of, on the pinned Node not', async () => {
  const warning =
    /^\S+  WARN svc_app\S*: Node 26\.10\.0 runs this: it lacks the security release 26\.\S+ of 2026-/m;
  for (const [nodeArgs, isWarned] of [
    [OLDER_NODE, true],
    [[], false],
  ] as const) {
    // Without an inbound, the last line of the start is known.
    await using weir = await Weir.launch(freedom(), { nodeArgs });
    await weir.child.until('the start', ({ stderr }) => /has no inbound/.test(stderr) || undefined);
    weir.child.signal('SIGTERM');
    assert.equal((await within(weir.child.exited, 'the end')).code, 0);
    assert.equal(warning.test(weir.child.stderr), isWarned, weir.child.stderr);
  }
});

test('--help lists the options on standard output', async () => {
  const weir = await runWeir(['--help']);
  for (const option of ['--config', '--test', '--version', '--help']) {
    assert.match(weir.stdout, new RegExp(option));
  }
  assert.equal(weir.stderr, '');
  assert.equal((await weir.exited).code, 0);
});

test('help, version and check are what the options of the same meaning are', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, VALID);
  for (const [words, options] of [
    [['help'], ['--help']],
    [
      ['help', 'ctl'],
      ['ctl', '--help'],
    ],
    [['version'], ['--version']],
    [
      ['check', '--config', file],
      ['--test', '--config', file],
    ],
  ] as const) {
    const [one, other] = [await runWeir(words), await runWeir(options)];
    assert.equal(one.stdout, other.stdout);
    assert.notEqual(one.stdout, '');
    assert.deepEqual(await one.exited, { code: 0, signal: null });
  }
  assert.match((await runWeir(['help', 'nonsense'])).stderr, /unknown command "nonsense"/);
});

test(
  'the process has the name of its command',
  { skip: process.platform !== 'linux' },
  async () => {
    await using weir = await Weir.start(VALID);
    assert.equal(readFileSync(`/proc/${weir.pid}/comm`, 'utf8'), 'weir\n');
    assert.match(readFileSync(`/proc/${weir.pid}/cmdline`, 'utf8'), /--config/);
  },
);

test('npm start ends with the signal that npm gets', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, VALID);
  const root = new URL('../..', import.meta.url).pathname;
  await using npm = new Child('npm', ['--prefix', root, 'start', '--', '--config', file]);
  const pid = await npm.until('the listener', () =>
    npm.stderr.includes('listening on') ? weirBelow(npm.pid) : undefined,
  );
  npm.signal('SIGTERM');
  await within(npm.exited, 'the end of npm');
  assert.equal(existsSync(`/proc/${pid}`), false);
});

test('what npm start prints into a file is a configuration, and npm -s adds nothing to it', async () => {
  await using folder = await scratch();
  const [links, file] = [join(folder.path, 'links.txt'), join(folder.path, 'weir.toml')];
  await writeFile(links, 'trojan://sesame@192.0.2.1:443?sni=localhost#mine\n');
  const root = new URL('../..', import.meta.url).pathname;
  for (const [silent, isWarned] of [
    [[], true],
    [['-s'], false],
  ] as const) {
    await using npm = new Child('npm', [
      ...silent,
      '--prefix',
      root,
      'start',
      '--',
      'import',
      links,
    ]);
    assert.equal((await within(npm.exited, 'the import')).code, 0, npm.stderr);
    await writeFile(file, npm.stdout);
    const check = await runWeir(['--test', '--config', file]);
    assert.equal(check.stdout, 'Configuration OK.\n', check.stderr);
    assert.equal(check.stderr.includes('npm -s start'), isWarned, check.stderr);
  }
});

/** The process that npm has started, by way of a shell or in its place. */
function weirBelow(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim();
  const [child = 0] = children.split(' ').map(Number);
  assert.ok(child > 0, 'npm has no child');
  return child;
}

for (const [what, env, mode] of [
  ['is open to its owner alone', {}, 0o600],
  ['has the permissions of WEIR_SOCKET_MODE', { WEIR_SOCKET_MODE: '660' }, 0o660],
] as const) {
  for (const io of ['kernel', 'node']) {
    test(`a unix socket ${what}, with WEIR_IO=${io}`, async () => {
      await using folder = await scratch();
      const [inbound, api] = [join(folder.path, 'in.sock'), join(folder.path, 'api.sock')];
      const config = `[api]\nlisten = "${api}"\n[[inbound]]\ntag = "in"\nprotocol = "http"\nlisten = "${inbound}"\n${freedom()}`;
      await using weir = await Weir.launch(config, { env: { ...env, WEIR_IO: io } });
      await weir.child.until('both listeners', () =>
        weir.child.stderr.includes('API listening') &&
        weir.child.stderr.includes('inbound in listening')
          ? true
          : undefined,
      );
      for (const path of [inbound, api]) assert.equal(statSync(path).mode & 0o777, mode);
    });
  }
}

test('WEIR_SOCKET_MODE that is no permissions is reported', async () => {
  await using folder = await scratch();
  const listen = join(folder.path, 'in.sock');
  const config = `[[inbound]]\ntag = "in"\nprotocol = "http"\nlisten = "${listen}"\n${freedom()}`;
  await using weir = await Weir.launch(config, { env: { WEIR_SOCKET_MODE: 'rw' } });
  assert.equal((await within(weir.child.exited, 'the end')).code, 1);
  assert.match(weir.child.stderr, /WEIR_SOCKET_MODE="rw" is not the permissions of a file/);
});

test('an unknown option or command is reported on standard error and ends with a failure', async (t) => {
  for (const args of [['--no-such-option'], ['walk'], ['run', 'twice'], ['--config']]) {
    await t.test(args.join(' '), async () => {
      const weir = await runWeir(args);
      assert.notEqual((await weir.exited).code, 0);
      assert.notEqual(weir.stderr, '');
      assert.equal(weir.stdout, '');
    });
  }
});

test('--test reports that a valid file is valid and binds nothing', async () => {
  await using folder = await scratch();
  await using holder = await bannerServer('taken');
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, VALID.replace('port = 0', `port = ${holder.port}`));
  const weir = await runWeir(['--config', file, '--test']);
  assert.equal(weir.stdout, 'Configuration OK.\n');
  assert.deepEqual(await weir.exited, { code: 0, signal: null });
});

test('--test reports what is wrong with an invalid file', async (t) => {
  const cases = [
    ['no outbound', socksIn(), 'config defines no outbounds'],
    [
      'an unknown protocol',
      `${VALID}[[outbound]]\ntag = "x"\nprotocol = "y"\n`,
      'unknown protocol',
    ],
    ['a doubled outbound', VALID + freedom(), 'duplicate outbound tag: direct'],
    [
      'an unknown route',
      `${VALID}[route]\ndefault = "x"\n`,
      'route references unknown outbound tag: x',
    ],
    ['an unknown key', `colour = "red"\n${VALID}`, 'TOML parse error at line 1, column 1'],
    ['broken TOML', `${VALID}\n[[`, 'TOML parse error at line'],
  ] as const;
  for (const [name, text, message] of cases) {
    await t.test(name, async () => {
      await using folder = await scratch();
      const file = join(folder.path, 'weir.toml');
      await writeFile(file, text);
      const weir = await runWeir(['--test', '--config', file]);
      assert.equal(weir.stdout, '');
      assert.match(weir.stderr, LINE);
      assert.match(weir.stderr, /ERROR svc_app: configuration invalid: /);
      assert.ok(weir.stderr.includes(message), weir.stderr);
      assert.deepEqual(await weir.exited, { code: 1, signal: null });
    });
  }
});

test('a file that does not exist is named and ends the start', async () => {
  const weir = await runWeir(['--config', '/nowhere/weir.toml']);
  assert.match(weir.stderr, /ERROR svc_app: .*\/nowhere\/weir\.toml/);
  assert.equal((await weir.exited).code, 1);
});

test('every line of a start and a stop has its time, level and target', async () => {
  await using weir = await Weir.start(VALID);
  assert.deepEqual(await weir.stop(), { code: 0, signal: null });
  assert.equal(weir.child.stdout, '');
  const lines = weir.child.stderr.trimEnd().split('\n');
  for (const line of lines) assert.match(line, LINE);
  assert.ok(lines.length >= 2);
});

test('an inbound that cannot bind ends the start and names itself and its address', async () => {
  await using holder = await bannerServer('taken');
  const config = VALID + socksIn('second').replace('port = 0', `port = ${holder.port}`);
  await using weir = await Weir.launch(config);
  assert.deepEqual(await weir.child.exited, { code: 1, signal: null });
  const error = weir.child.stderr.split('\n').find((line) => line.includes(' ERROR '));
  assert.match(error ?? '', LINE);
  assert.ok(error?.includes(`127.0.0.1:${holder.port}`), weir.child.stderr);
});

test('a configuration without inbounds runs until it is stopped', async () => {
  await using weir = await Weir.launch(freedom());
  await weir.child.until('any line', ({ stderr }) => (stderr.includes('\n') ? true : undefined));
  assert.equal(weir.child.ended, undefined);
  assert.deepEqual(await weir.stop('SIGINT'), { code: 0, signal: null });
});

test('without --config the built-in configuration serves SOCKS on 1080 and HTTP on 8080', async (t) => {
  for (const port of [1080, 8080]) {
    if (!(await isFree(port))) return t.skip(`port ${port} is taken on this machine`);
  }
  await using weir = weirCommand([]);
  await weir.until('both listeners', ({ stderr }) =>
    /listening on 127\.0\.0\.1:1080$/m.test(stderr) &&
    /listening on 127\.0\.0\.1:8080$/m.test(stderr)
      ? true
      : undefined,
  );
  weir.signal('SIGTERM');
  assert.deepEqual(await weir.exited, { code: 0, signal: null });
});

test('a SIGHUP that comes while it starts does not end it, and reloads once it runs', async () => {
  await using weir = await Weir.launch(`[log]\nlevel = "debug"\n${VALID}`, {
    nodeArgs: ['--import', hangUpEarly],
  });
  await weir.child.until('the reload', ({ stderr }) =>
    stderr.includes('reload: the files have not changed') ? true : undefined,
  );
  assert.deepEqual(await weir.stop(), { code: 0, signal: null });
});

/** Sends the signal as soon as the process has a handler for it. */
const hangUpEarly = `data:text/javascript,${encodeURIComponent(
  `process.on('newListener', (name) => {
     if (name === 'SIGHUP') setImmediate(() => process.kill(process.pid, 'SIGHUP'));
   });`,
)}`;
