import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, readdir, readlink, realpath, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { eventually, within } from '../support/wait.ts';
import { start, type Installed } from './installed.ts';

/*
 * What is asked of the command of the npm package beside what every form is asked for: it hands over
 * to the packaged Node and leaves nothing of itself.
 */

const LISTENING = /inbound \S+ listening on \S+$/m;

/** @param node the binary that is to run Weir. */
export async function tryLauncher(
  t: TestContext,
  installed: Installed,
  node: string,
): Promise<void> {
  const file = join(installed.folder, 'launched.toml');
  await mkdir(installed.folder, { recursive: true });
  await writeFile(file, `${socksIn()}${freedom()}`);
  const serving = async (options?: Parameters<typeof start>[2]): Promise<Child> => {
    const child = start(installed, ['--config', file], options);
    await child.until('listening', ({ stderr }) => LISTENING.test(stderr) || undefined);
    return child;
  };

  await t.test(
    'is one process, the packaged Node, without descriptors of the launcher',
    async () => {
      await using child = await serving();
      assert.equal(await readlink(`/proc/${child.pid}/exe`), await realpath(node));
      assert.deepEqual(await childrenOf(child.pid), []);
      await using direct = start({ ...installed, command: node }, [
        await scriptOf(child.pid),
        '--config',
        file,
      ]);
      await direct.until('listening', ({ stderr }) => LISTENING.test(stderr) || undefined);
      // Some are opened and closed again after the start.
      await eventually('the same descriptors', async () =>
        isDeepStrictEqual(await filesOf(child.pid), await filesOf(direct.pid)),
      );
    },
  );

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    await t.test(`stops by ${signal}`, async () => {
      await using child = await serving();
      child.signal(signal);
      assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null });
    });
  }

  await t.test('reloads by SIGHUP, and ends by the signal that ends Weir', async () => {
    await using child = await serving();
    await writeFile(file, `${socksIn()}${freedom()}# changed\n`);
    child.signal('SIGHUP');
    await child.until('the reload', ({ stderr }) => /config reloaded/.test(stderr) || undefined);
    child.signal('SIGKILL');
    assert.deepEqual(await within(child.exited, 'the end'), { code: null, signal: 'SIGKILL' });
  });

  await t.test('passes on arguments, the standard streams and the status', async () => {
    await using child = start(installed, ['import', '-']);
    child.stdin.end('trojan://secret@server.example:443#näme with spaces\n');
    assert.equal((await within(child.exited, 'the end')).code, 0, child.stderr);
    assert.match(child.stdout, /server = "server\.example"/);
    assert.match(child.stderr, /weir import: 1 outbound/);
    await using refused = start(installed, ['--config', 'no such file.toml']);
    assert.equal((await within(refused.exited, 'the end')).code, 1);
    assert.match(refused.stderr, /no such file\.toml/);
  });

  await t.test('passes on the sockets of a service manager', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    try {
      const { port } = listener.address() as AddressInfo;
      const passed = join(installed.folder, 'passed.toml');
      await writeFile(passed, `${socksIn().replace('port = 0', `port = ${port}`)}${freedom()}`);
      const { fd } = (listener as unknown as { _handle: { fd: number } })._handle;
      const manager: Installed = {
        ...installed,
        env: { ...installed.env, LISTEN_FDS: '1' },
        prefix: ['/bin/sh', '-c', 'LISTEN_PID=$$ exec "$@"', 'sh'],
      };
      await using child = start(manager, ['--config', passed], { descriptors: [fd] });
      await child.until('listening', ({ stderr }) => LISTENING.test(stderr) || undefined);
      assert.match(child.stderr, new RegExp(`listening on 127\\.0\\.0\\.1:${port}$`, 'm'));
      assert.deepEqual(await childrenOf(child.pid), []);
    } finally {
      listener.close();
    }
  });
}

/** The processes that any thread of a process has started and that live. */
async function childrenOf(pid: number): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`);
  // A thread may have ended since.
  const lists = tasks.map((task) =>
    readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => ''),
  );
  return (await Promise.all(lists)).flatMap((text) => text.match(/\d+/g) ?? []);
}

/** The script that a Node runs: its first argument. */
const scriptOf = async (pid: number): Promise<string> =>
  (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')[1] ?? assert.fail('no script');

/** What the descriptors of a process are, without the numbers of sockets and pipes. */
async function filesOf(pid: number): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const files = await Promise.all(
    descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed')),
  );
  return files.map((file) => file.replace(/:\[\d+\]$/, '')).toSorted();
}
