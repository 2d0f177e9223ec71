import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { runWeir, scratch, weirCommand } from '../support/process/weir.ts';

/** Commands that reach a running Weir by its API; all end by themselves when that is not there. */
const BY_API: readonly (readonly string[])[] = [
  ['ctl', 'version'],
  ['ctl', 'routes'],
  ['ctl', 'pick', 'default', 'direct'],
  ['ctl', 'reload'],
  ['ctl', 'connections'],
  ['ctl', 'close', '--all'],
  ['ctl', 'traffic'],
  ['ctl', 'events'],
  ['metrics', '--once'],
  ['top'],
];

/** Those that reach it by its control socket alone. */
const BY_SOCKET: readonly (readonly string[])[] = [
  ['status'],
  ['log', '--no-follow'],
  ['log-level', 'info'],
  ['reload'],
  ['probe', '--all'],
  ['fetch', 'http://127.0.0.1:9090/', '--outbound', 'direct'],
];

/*
 * Another Weir has the standard address of the API, 127.0.0.1:9090, in a network of this test's own: commands that name
 * a Weir that is not there fail, and ask the other one nothing.
 */
inOwnNetwork(import.meta.url, () => {
  describe('a Weir that was named and is not there', () => {
    test('is an error of every command, and no other Weir is asked', async () => {
      await using folder = await scratch();
      const asked: string[] = [];
      await using other = createServer((request, response) => {
        asked.push(`${request.method} ${request.url}`);
        response.setHeader('Content-Type', 'application/json').end('{"version":"2.1.1"}');
      }).listen(9090, '127.0.0.1');
      await once(other, 'listening');
      const dead = join(folder.path, 'dead.sock');
      const noApi = join(folder.path, 'no-api.toml');
      await writeFile(noApi, socksIn() + freedom());
      const missing = join(folder.path, 'missing.toml');
      const env = { XDG_RUNTIME_DIR: folder.path };
      const fails = async (
        command: readonly string[],
        names: RegExp,
        more: Readonly<Record<string, string>> = {},
      ): Promise<void> => {
        const { ended, stdout, stderr } = await runWeir(command, { env: { ...env, ...more } });
        assert.equal(ended?.code, 1, command.join(' '));
        assert.match(stdout + stderr, names, command.join(' '));
      };
      await Promise.all([
        ...[...BY_API, ...BY_SOCKET].map((command) =>
          fails([...command, '--socket', dead], /dead\.sock/),
        ),
        fails(['ctl', 'version'], /WEIR_SOCKET names/, { WEIR_SOCKET: dead }),
        ...[['ctl', 'version'], ['ctl', 'close', '--all'], ['top']].map((command) =>
          fails([...command, '--config', noApi], /no-api\.toml has no \[api\]: add it/),
        ),
        fails(['metrics', '--once', '--config', noApi], /no Weir responds/),
        ...[
          ['ctl', 'version'],
          ['ctl', 'close', '--all'],
          ['top'],
          ['probe', '--all'],
          ['dashboard'],
          ['clash-api'],
          ['metrics'],
          ['diagnose', '--yes'],
        ].map((command) =>
          fails([...command, '--config', missing], /cannot read \S*missing\.toml|ENOENT/),
        ),
      ]);

      // Programs that watch need not be started after Weir: they say that it is not there, and wait for it.
      const named = ['--socket', dead];
      await using dashboard = await DashboardProcess.start(named, { env });
      await dashboard.child.until('why', ({ stderr }) => stderr.includes('dead.sock') || undefined);
      await using clash = await ClashProcess.start(named, { env });
      assert.match(clash.child.stderr, /dead\.sock/);
      assert.notEqual((await clash.ask('GET', '/connections')).status, 200);
      await using metrics = weirCommand(['metrics', '--listen=127.0.0.1:0', ...named], { env });
      const url = await metrics.until('where', ({ stdout }) => / (http:\S+)\n/.exec(stdout)?.[1]);
      assert.match(await (await fetch(url)).text(), /^weir_up 0$/m);

      assert.deepEqual(asked, []);
      assert.equal(
        (await runWeir(['ctl', 'version', '--api', '127.0.0.1:9090'], { env })).stdout,
        '{"version":"2.1.1"}\n',
      );
    });
  });
});
