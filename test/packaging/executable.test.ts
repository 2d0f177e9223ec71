import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, copyFile, link, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { executableObstacle } from '../../packaging/executable.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { scratch } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';
import { builtForms } from './built.ts';
import { finish, start, type Installed } from './installed.ts';
import { tryOut } from './trial.ts';
import { tryPrograms } from './try-programs.ts';

/** Has SIGUSR2 write the chunks that were loaded so far, and those whose code cache V8 did not take. */
const PROBE = `
  const vm = require('node:vm');
  const loaded = [], rejected = [];
  vm.Script = class extends vm.Script {
    constructor(text, options) {
      super(text, options);
      loaded.push(options.filename);
      if (this.cachedDataRejected !== false) rejected.push(options.filename);
    }
  };
  process.on('SIGUSR2', () => console.log(JSON.stringify({ loaded, rejected })));`;

/** Of Node itself: the main thread, one for timers, one for signals and four of V8. */
const THREADS_OF_NODE = 7;

/** Above the largest id of a process (proc(5), pid_max). */
const NO_PROCESS = (1 << 22) + 1;

/** Leaves a socket in a folder on which no process listens. */
async function leaveSocket(folder: string, name: string): Promise<void> {
  const server = createServer().listen(join(folder, 'bound'));
  await once(server, 'listening');
  await link(join(folder, 'bound'), join(folder, name));
  await once(server.close(), 'close');
}

const skip = executableObstacle() ?? false;

test('the executable runs alone in an empty folder, with an empty PATH', { skip }, async (t) => {
  await using folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  await using forms = await builtForms();
  await mkdir(at('alone'));
  await copyFile(join(forms.path, 'weir'), at('alone/weir'));
  const temporary = at('temporary');
  await mkdir(temporary);
  const installed: Installed = {
    command: at('alone/weir'),
    env: { PATH: '', TMPDIR: temporary },
    folder: at('alone/files'),
  };

  await tryOut(t, installed);

  await t.test('has the programs that show and steer it', async () => tryPrograms(installed));

  await t.test(
    'loads for SOCKS nothing else, from code caches, on the threads of Node',
    async () => {
      await writeFile(at('probe.cjs'), PROBE);
      await writeFile(at('socks.toml'), `${socksIn()}${freedom()}`);
      // As a Weir that was killed leaves it: a look at it must not start the thread pool.
      await mkdir(at('run/weir'), { recursive: true, mode: 0o700 });
      await leaveSocket(at('run/weir'), `${NO_PROCESS}.sock`);
      const env = {
        ...installed.env,
        NODE_OPTIONS: `--require ${at('probe.cjs')}`,
        XDG_RUNTIME_DIR: at('run'),
      };
      await using child = start({ ...installed, env }, ['--config', at('socks.toml')]);
      await child.until('listening', ({ stderr }) => / listening on /.test(stderr) || undefined);
      await eventually('the socket of its own alone', async () => {
        const names = await readdir(at('run/weir'));
        return names.length === 1 && names[0] === `${child.pid}.sock`;
      });
      child.signal('SIGUSR2');
      const text = await child.until('chunks', ({ stdout }) => /^.+$/m.exec(stdout)?.[0]);
      const { loaded, rejected } = JSON.parse(text) as Record<'loaded' | 'rejected', string[]>;
      assert.ok(loaded.includes('program.js'), text);
      assert.deepEqual(rejected, []);
      // Of tun, hysteria2 and wireguard, and of the thread.
      assert.deepEqual(
        loaded.filter((name) => /^(create-|thread-main)/.test(name)),
        [],
      );
      const threads = await readdir(`/proc/${child.pid}/task`);
      assert.ok(threads.length <= THREADS_OF_NODE, `${threads.length} threads`);
    },
  );

  await t.test('leaves nothing of its native parts in the temporary folder', async () => {
    assert.deepEqual(await readdir(temporary), []);
  });

  await t.test('keeps its native parts where the temporary folder cannot be used', async () => {
    const env = { PATH: '', TMPDIR: at('absent') };
    const { stdout, stderr } = await finish({ ...installed, env }, ['--version', '--verbose']);
    assert.equal(stderr, '');
    assert.match(stdout, /the kernel's/);
  });

  await t.test('takes options of its own only, none of Node', async () => {
    const { code, stderr } = await finish(installed, ['--eval', '1']);
    assert.equal(code, 2);
    assert.match(stderr, /^weir: unknown option '?--eval/i);
  });

  await t.test('runs for a user who may not write to it', async () => {
    await chmod(at('alone/weir'), 0o555);
    assert.equal((await finish(installed, ['--version'])).code, 0);
  });
});
