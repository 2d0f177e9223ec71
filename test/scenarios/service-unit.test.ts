import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseDrain } from '../../packages/weir/src/cli/control/drain.ts';
import { parseReload } from '../../packages/weir/src/cli/control/reload.ts';
import { parseSubscribe } from '../../packages/weir/src/cli/nodes/subscribe.ts';
import { parseRun } from '../../packages/weir/src/cli/run/command.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { open } from '../support/data/address.ts';
import { NotifySocket } from '../support/peers/notify-socket.ts';
import { within } from '../support/wait.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

const UNIT = fileURLToPath(new URL('../../packaging/weir.service', import.meta.url));

const UPDATES = UNIT.replace('weir.service', 'weir-subscribe.service');
const USAGE = UNIT.replace('weir.service', 'weir-usage.service');
const LINKS = UNIT.replace('weir.service', 'weir-links.service');

/** The keys in which the unit of an instance differs, docs/scaling.md; all else is kept equal. */
const INSTANCE_KEYS: ReadonlySet<string> = new Set([
  'Description',
  'Requires',
  'PartOf',
  'ReloadPropagatedFrom',
  'Sockets',
  'ExecStop',
  'RuntimeDirectory',
  'BindPaths',
  'WantedBy',
]);

test('the unit of an instance restricts what the unit restricts', async () => {
  const settings = async (file: string): Promise<string[]> =>
    (await readFile(file, 'utf8'))
      .split('\n')
      .filter((line) => /^\w+=/.test(line) && !INSTANCE_KEYS.has(line.slice(0, line.indexOf('='))));
  const instance = await settings(UNIT.replace('weir.service', 'weir@.service'));
  assert.deepEqual(
    instance.filter((line) => line !== 'After=weir.socket'),
    await settings(UNIT),
  );
});

/** Why a tool cannot be used here; false when it can. */
const without = (tool: string): string | false =>
  spawnSync(tool, ['--version']).error ? `there is no ${tool} here` : false;

const analyze = (...args: string[]) =>
  spawnSync('systemd-analyze', ['--no-pager', ...args], { encoding: 'utf8' });

/** The values of a key of the unit, in order. */
async function valuesOf(key: string): Promise<string[]> {
  const text = await readFile(UNIT, 'utf8');
  return [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

suite('the unit', { skip: without('systemd-analyze') }, () => {
  test('is valid', async () => {
    await using folder = await scratch();
    // Its programs and its user are not installed here.
    const text = (await readFile(UNIT, 'utf8'))
      .replaceAll('/usr/bin/weir', process.execPath)
      .replace(/^Documentation=.*\n/m, '');
    const file = join(folder.path, 'weir.service');
    await writeFile(file, text);
    const sockets = join(folder.path, 'weir.socket');
    // That of instances, for this unit alone.
    const shared = await readFile(UNIT.replace(/service$/, 'socket'), 'utf8');
    await writeFile(sockets, shared.replace(/^Service=.*\n/m, ''));
    const { status, stdout, stderr } = analyze('verify', file, sockets);
    assert.equal(stdout + stderr, '');
    assert.equal(status, 0);
  });

  test('of an instance is valid, with the sockets that all share', async () => {
    await using folder = await scratch();
    const files = await Promise.all(
      ['weir@.service', 'weir-instances.service', 'weir.socket'].map(async (name) => {
        const text = (await readFile(UNIT.replace('weir.service', name), 'utf8'))
          .replaceAll('/usr/bin/weir', process.execPath)
          .replace(/^Documentation=.*\n/m, '');
        const file = join(folder.path, name.replace('@', '@1'));
        await writeFile(file, text);
        return file;
      }),
    );
    const { status, stdout, stderr } = analyze('verify', ...files);
    assert.equal(stdout + stderr, '');
    assert.equal(status, 0);
  });

  test('of updates of subscriptions is valid, with its timer, and those of usage and links', async () => {
    await using folder = await scratch();
    const files = await Promise.all(
      [
        'weir-subscribe.service',
        'weir-subscribe.timer',
        'weir-usage.service',
        'weir-links.service',
      ].map(async (name) => {
        const text = (await readFile(UNIT.replace('weir.service', name), 'utf8'))
          .replaceAll('/usr/bin/weir', process.execPath)
          .replace(/^Documentation=.*\n/m, '');
        const file = join(folder.path, name);
        await writeFile(file, text);
        return file;
      }),
    );
    const { status, stdout, stderr } = analyze('verify', ...files);
    assert.equal(stdout + stderr, '');
    assert.equal(status, 0);
  });

  test('exposes little of the machine, as do those of updates, usage and links', () => {
    // Of 100; a unit without any restriction has 96.
    for (const unit of [UNIT, UPDATES, USAGE, LINKS]) {
      const { status, stdout } = analyze('security', '--offline=yes', '--threshold=20', unit);
      assert.equal(status, 0, stdout);
    }
  });

  test(
    'lets through every system call that serving, a reload and a stop make',
    {
      skip: without('strace'),
    },
    async () => {
      const allowed = await allowedCalls();
      await using folder = await scratch();
      const trace = join(folder.path, 'trace');
      using manager = new NotifySocket(join(folder.path, 'notify'));
      const reloads = join(folder.path, 'reload.sock');
      await using weir = await Weir.start(socksIn() + freedom(), {
        wrap: ['strace', '-f', '-qq', '-o', trace],
        args: ['--reload-socket', reloads],
        env: { NOTIFY_SOCKET: join(folder.path, 'notify') },
      });
      await manager.until('READY');
      const socket = await open(weir.address('socks'));
      // SOCKS 5 to port 1 of this host, which refuses.
      socket.write(Buffer.from('050100050100017f0000010001', 'hex'));
      await once(socket.resume(), 'end');
      socket.destroy();
      assert.equal((await runWeir(['reload', reloads])).ended?.code, 0);
      process.kill(Number(await pidIn(trace)), 'SIGTERM');
      await within(weir.child.exited, 'the end');
      const calls = new Set(
        Array.from(
          (await readFile(trace, 'latin1')).matchAll(/^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)/gm),
          ([, name = '']) => name,
        ),
      );
      assert.ok(calls.has('epoll_ctl') && calls.size > 20, [...calls].join(' '));
      assert.deepEqual(
        [...calls].filter((name) => !allowed.has(name)),
        [],
      );
    },
  );
});

test('the commands of the unit are understood', async () => {
  const [start = ''] = await valuesOf('ExecStart');
  const [reload = ''] = await valuesOf('ExecReload');
  const socket = '/run/weir/reload.sock';
  assert.deepEqual(parseRun(start.split(' ').slice(1)), {
    kind: 'run',
    config: '/etc/weir/weir.toml',
    watch: false,
    reloadSocket: socket,
    controlSocket: true,
    graceMs: 5_000,
    pcap: undefined,
    limits: undefined,
  });
  assert.deepEqual(parseReload(reload.split(' ').slice(2)), {
    socket,
    config: undefined,
  });
});

test('the command of the unit of updates is understood', async () => {
  const text = await readFile(UPDATES, 'utf8');
  const [, words = ''] = /^ExecStart=\/usr\/bin\/weir subscribe (.*)$/m.exec(text) ?? [];
  const given = parseSubscribe(words.split(' '));
  assert.ok(given?.kind === 'update' && given.ifDue && given.config === '/etc/weir/weir.toml');
});

test('the unit leaves the machine code of V8 and of native calls alone', async () => {
  assert.deepEqual(await valuesOf('MemoryDenyWriteExecute'), []);
});

/** The first process in the output of strace. */
async function pidIn(trace: string): Promise<string> {
  return /^\d+/.exec(await readFile(trace, 'latin1'))?.[0] ?? assert.fail('no process');
}

/** The names of system calls that the filters of the unit let through. */
async function allowedCalls(): Promise<ReadonlySet<string>> {
  const groups = groupsOf(analyze('syscall-filter').stdout);
  const namesOf = (words: string): string[] =>
    words.split(' ').flatMap((word) => {
      const members = groups.get(word);
      return members ? members.flatMap(namesOf) : [word];
    });
  const allowed = new Set<string>();
  for (const filter of await valuesOf('SystemCallFilter')) {
    if (filter.startsWith('~')) for (const name of namesOf(filter.slice(1))) allowed.delete(name);
    else for (const name of namesOf(filter)) allowed.add(name);
  }
  return allowed;
}

/** `@group`, and indented below it a comment and its members. */
function groupsOf(text: string): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  let members: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('@')) groups.set(line.trim(), (members = []));
    else if (/^ +[^# ]/.test(line)) members.push(line.trim());
  }
  return groups;
}

test('an instance that is stopped drains, unless the machine shuts down', async () => {
  const text = await readFile(UNIT.replace('weir.service', 'weir@.service'), 'utf8');
  const [, command = ''] = /^ExecStop=-\/bin\/sh -c '(.*)'$/m.exec(text) ?? [];
  const [, words = ''] = /exec \/usr\/bin\/weir drain (.*)$/.exec(command) ?? [];
  const asked = parseDrain(words.split(' '));
  assert.equal(asked?.waitMs, 300_000);
  assert.equal(asked.socket, '/run/weir/reload.sock');
  await using folder = await scratch();
  for (const [state, expected] of [
    ['running', `drain ${words}\n`],
    ['degraded', `drain ${words}\n`],
    ['stopping', ''],
  ] as const) {
    await writeFile(join(folder.path, 'systemctl'), `#!/bin/sh\necho ${state}\n`, { mode: 0o755 });
    await writeFile(join(folder.path, 'weir'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const script = command
      .replaceAll('$$', '$')
      .replace('/usr/bin/weir', join(folder.path, 'weir'));
    const { stdout } = spawnSync('/bin/sh', ['-c', script], {
      encoding: 'utf8',
      env: { PATH: `${folder.path}:/usr/bin:/bin` },
    });
    assert.equal(stdout, expected);
  }
});
