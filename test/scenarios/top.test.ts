import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { requestStatus } from '@weir/server/control';
import { SteeredWeir } from '../support/clash/steered-weir.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';
import { noTerminal, TopProcess } from '../support/top/top-process.ts';
import { eventually } from '../support/wait.ts';

/** Resolves when the connection has ended, by a reset too. */
const endOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.once('close', resolve));

/** Options with which it finds nothing. */
const nothing = (folder: string): readonly string[] => [
  `--socket=${join(folder, 'none.sock')}`,
  '--api=127.0.0.1:1',
];

suite('weir top on a terminal', { skip: noTerminal() }, () => {
  test('it shows a flow, closes it, sets a pick, and quits', async () => {
    await using steered = await SteeredWeir.start();
    const { controlPath, folder } = steered.weir;
    const first = await steered.openFlow();
    await using top = new TopProcess(['--socket', controlPath]);
    const { port } = steered.echo.target;
    await top.until(/^weir\.toml \S+ {2}Serving$/m);
    await top.until(new RegExp(`127\\.0\\.0\\.1:${port} +tokyo`));

    // The flow is closed, after a question.
    top.press('j');
    await top.until(/^>/m);
    top.press('x');
    await top.until(
      /^ Close flow (\d+)\?\n.* by tokyo\n\n y {2}close it\n {4}weir ctl close \d+ --socket \S+$/m,
    );
    const closed = endOf(first);
    top.press('y');
    await closed;
    await top.until(/^ Flow \d+ is closed\.$/m);
    top.press('\r');
    await top.until(/^> *closed /m);

    // A pick tells how many flows it leaves, and closes them.
    const second = await steered.openFlow();
    top.press('p');
    await top.until(/^ Video +tokyo +tokyo /m);
    top.press('j\r');
    await top.until(/^ Where "Video" goes\n(?:.*\n)*>tokyo {2}node$/m);
    top.press('\x1b[B\r');
    await top.until(/^ New flows go to "osaka"\.\n 1 flow of "Video" stays open on "tokyo"\.$/m);
    await top.until(
      /^ c {2}pick, and close this flow\n {4}weir ctl pick Video osaka --close --socket(?:$| )/m,
    );
    const ended = endOf(second);
    top.press('c');
    await ended;
    await top.until(/^ Applied: .*Closed 1 flow\.$/m);
    assert.match(await readFile(join(folder, 'weir.toml'), 'utf8'), /^Video = "osaka"$/m);
    top.press('\r');
    await top.until(/^>Video +osaka +osaka /m);

    // Other sizes, and the usual screen at the end.
    await top.resize(60, 12);
    await top.until(/^>Video +osaka +osaka /m);
    await top.resize(120, 40);
    await top.until(/^>Video +osaka +osaka /m);
    top.press('q');
    assert.deepEqual(await top.ended(), { status: 0, isRestored: true });
  });

  test('a Weir that is started anew is found while it runs', async () => {
    await using folder = await scratch();
    const socket = join(folder.path, 'control.sock');
    const start = async (): Promise<Weir> => {
      const weir = await Weir.start(`${API}${socksIn()}${freedom()}`, {
        args: ['--reload-socket', socket],
      });
      await eventually('the control socket', () => requestStatus(socket).catch(() => undefined));
      return weir;
    };
    await using first = await start();
    await using top = new TopProcess(['--socket', socket]);
    await top.until(/^\S+ \S+ {2}Serving$/m);
    await first.stop();
    await top.until(/API lost: nothing shown is current/);
    await top.until(/^! API: /m);
    await using _ = await start();
    await top.until(/^\S+ \S+ {2}Serving$/m);
    top.press('q');
    assert.deepEqual(await top.ended(), { status: 0, isRestored: true });
  });

  test('a signal ends it although the terminal takes nothing', async () => {
    await using folder = await scratch();
    await using top = new TopProcess(nothing(folder.path));
    await top.until(/API lost/);
    const pid = await top.pid();
    top.pause();
    // Whole screens, several times what a pseudo-terminal takes.
    for (let i = 0; i < 300; i++) await top.resize(200 - (i % 2), 60);
    process.kill(pid, 'SIGTERM');
    await eventually('the end of the process', () => !existsSync(`/proc/${pid}`));
    top.resume();
    const { status } = await top.ended();
    assert.equal(status, 0);
  });

  test('invalid options are refused before the terminal is touched', async () => {
    for (const [args, text] of [
      [['--colour'], /^weir: unknown option --colour/],
      [['operand'], /^weir: unexpected argument "operand"/],
    ] as const) {
      await using top = new TopProcess(args);
      assert.deepEqual(await top.ended(), { status: 2, isRestored: true });
      assert.match(await top.screen.text(), new RegExp(text.source, 'm'));
      assert.doesNotMatch(top.bytes, /1049h/);
    }
  });

  test('without a terminal it prints once, as plain text', async () => {
    await using steered = await SteeredWeir.start();
    await steered.openFlow();
    const args = ['--socket', steered.weir.controlPath, '--listen', '127.0.0.1:0'];
    const child = await runWeir(['top', ...args]);
    assert.equal(child.ended?.code, 0);
    assert.match(child.stderr, /^weir top: --listen has no effect: /);
    assert.match(child.stdout, /^weir\.toml \S+ {2}Serving\n/);
    assert.match(child.stdout, new RegExp(`127\\.0\\.0\\.1:${steered.echo.target.port} +tokyo`));
    assert.doesNotMatch(child.stdout, /\p{Cc}(?<!\n)/u);
    await using folder = await scratch();
    const none = await runWeir(['top', ...nothing(folder.path)]);
    assert.equal(none.ended?.code, 1);
    assert.match(none.stdout, /^! API: cannot reach the API on 127\.0\.0\.1:1/m);
  });

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`${signal} gives the terminal back`, async () => {
      await using folder = await scratch();
      await using top = new TopProcess(nothing(folder.path));
      await top.until(/API lost/);
      await top.signal(signal);
      assert.deepEqual(await top.ended(), { status: 0, isRestored: true });
    });
  }

  test('without a Weir it says what is missing, and the next step', async () => {
    await using folder = await scratch();
    await using top = new TopProcess(nothing(folder.path));
    await top.until(/^Weir {2}API lost: nothing shown is current$/m);
    await top.until(/^! API: cannot reach the API on 127\.0\.0\.1:1: connection refused/m);
    await top.until(/^! control socket: /m);
    top.press('\x03');
    assert.deepEqual(await top.ended(), { status: 0, isRestored: true });
  });

  test('suspended it gives the terminal back, and takes it again when it goes on', async () => {
    await using folder = await scratch();
    await using top = new TopProcess(nothing(folder.path));
    await top.until(/API lost/);
    const pid = await top.pid();
    top.press('\x1a');
    await eventually('the process to stop', async () =>
      / \(.*\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')),
    );
    assert.deepEqual(await top.screen.modes(), { isAlternate: false, wraps: true });
    process.kill(pid, 'SIGCONT');
    await top.until(/API lost/);
    top.press('q');
    assert.deepEqual(await top.ended(), { status: 0, isRestored: true });
  });
});
