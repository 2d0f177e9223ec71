import assert from 'node:assert/strict';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DashboardClient, DashboardStream } from '../support/dashboard/client.ts';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import { foreignListener, noForeignUser } from '../support/peers/foreign-listener.ts';
import { freePort } from '../support/ports.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { runWeir, scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { eventually, within } from '../support/wait.ts';

const SECRET = 'the secret of the operator';
const API_UP = /^weir_source_up\{source="api"\} 1$/m;
const NOT_SENT = /the secret of the API was not sent to \S+: that socket is of user 54321, /;

/*
 * While Weir is stopped any user of the host can listen on the address of its API. It must not get the secret, neither
 * from a command nor from a program that has watched that Weir before.
 */
describe('the secret of the API', { skip: noForeignUser }, () => {
  const configWith = (listen: string): string =>
    `[api]\nlisten = "${listen}"\nsecret = "${SECRET}"\n${socksIn()}${freedom()}`;
  /** Commands that end, with their status. */
  const COMMANDS: readonly (readonly string[])[] = [
    ['ctl', 'version'],
    ['ctl', 'close', '--all'],
    ['ctl', 'pick', 'default', 'direct'],
    ['ctl', 'events'],
    ['metrics', '--once'],
    ['top'],
  ];

  test('is sent to no process of another user, by any command', async () => {
    await using folder = await scratch();
    const port = await freePort();
    const config = join(folder.path, 'weir.toml');
    await writeFile(config, configWith(`127.0.0.1:${port}`));
    await using other = await foreignListener(port);
    for (const command of COMMANDS) {
      const { ended, stdout, stderr } = await runWeir([...command, '--config', config]);
      assert.equal(ended?.code, 1, command.join(' '));
      if (command[0] !== 'metrics') assert.match(stdout + stderr, NOT_SENT, command.join(' '));
    }
    await other.accepted(COMMANDS.length);
    assert.equal(other.received(), '');
    // Named, the address is the user's own choice.
    const args = ['ctl', 'version', '--config', config, '--api', `127.0.0.1:${port}`];
    assert.equal((await runWeir(args)).ended?.code, 0);
    assert.match(other.received(), new RegExp(`Bearer ${SECRET}`));
  });

  test('is sent to none through a unix socket either', async () => {
    await using folder = await scratch();
    // As /tmp: whoever listens there first owns the name.
    await chmod(folder.path, 0o1777);
    const path = join(folder.path, 'api.sock');
    const config = join(folder.path, 'weir.toml');
    await writeFile(config, configWith(path));
    const command = ['ctl', 'version', '--config', config];
    {
      await using weir = await Weir.start(configWith(path));
      assert.equal((await runWeir(command)).ended?.code, 0);
      await weir.stop();
      await rm(path, { force: true });
    }
    await using other = await foreignListener(path);
    const { ended, stderr } = await runWeir(command);
    assert.equal(ended?.code, 1);
    assert.match(stderr, NOT_SENT);
    await other.accepted(1);
    assert.equal(other.received(), '');
  });

  test('is sent by programs that watch to Weir, and to none that listens in its place', async () => {
    const port = await freePort();
    const text = configWith(`127.0.0.1:${port}`);
    await using first = await Weir.start(text, { control: true });
    const place = ['--config', join(first.folder, 'weir.toml'), '--socket', first.controlPath];
    await using metrics = weirCommand(['metrics', '--listen=127.0.0.1:0', ...place]);
    const url = await metrics.until(
      'its address',
      ({ stdout }) => / (http:\S+)\n/.exec(stdout)?.[1],
    );
    const scrape = async (): Promise<string> => (await fetch(url)).text();
    await using dashboard = await DashboardProcess.start(place);
    const client = await DashboardClient.signIn(await dashboard.newLink());
    await using page = await DashboardStream.open(client, [
      { id: 1, topic: 'frame', parameters: null },
    ]);
    const shows = (text: RegExp): Promise<unknown> =>
      within(
        page.until(1, (value) => text.test(JSON.stringify(value))),
        `${text} on the page`,
      );
    await eventually('the API', async () => API_UP.test(await scrape()));
    await shows(/"health":"Serving"/);
    await first.stop('SIGKILL');
    await using other = await foreignListener(port);
    assert.match(await scrape(), /^weir_up 0$/m);
    await shows(/"kind":"other-server","message":"the secret of the API was not sent/);
    assert.equal(other.received(), '');
  });
});
