import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followLog, requestReload, requestStatus, type LoggedLine } from '@weir/server/control';
import { commandLine } from '@weir/base/text/command-line';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { Child } from '../support/process/child.ts';
import { socksConnect, SocksRefused } from '../support/peers/socks-client.ts';
import { freePort } from '../support/ports.ts';
import { eventually, within } from '../support/wait.ts';
import { program, runWeir, Weir, weirCommand } from '../support/process/weir.ts';

const HOST = 'private.host.example';

test('weir log follows a running Weir to its end, with addresses as its log shows them', async () => {
  const dead = proxyOut('dead', 'socks', { host: '127.0.0.1', port: await freePort() });
  await using weir = await Weir.start(`${socksIn()}${dead}${freedom()}`, {
    control: true,
    env: { WEIR_LOG_ADDRESSES: 'net' },
  });
  await using shown = weirCommand(['log', '--socket', weir.controlPath]);
  await using json = weirCommand([
    'log',
    '--json',
    '--level=info,svc_app::instance=off',
    '--socket',
    weir.controlPath,
  ]);
  const lines = followLog(weir.controlPath, { filter: 'info' });
  assert.deepEqual((await lines.next()).value, { kind: 'live' });

  await requestReload(weir.controlPath, 'a trial');
  const edited = (await lines.next()).value;
  assert.ok(edited?.kind === 'line');
  assert.deepEqual(
    [edited.level, edited.target, edited.message],
    ['info', 'svc_app::instance', 'edited: a trial'],
  );
  await assert.rejects(
    socksConnect(weir.address('socks'), { host: HOST, port: 443 }),
    SocksRefused,
  );
  let failed: LoggedLine | undefined;
  for await (const event of lines) {
    if (event.kind === 'line' && event.fields.outbound === 'dead') {
      failed = event;
      break;
    }
  }
  assert.ok(failed);
  assert.equal(failed.fields.host, '*.host.example');
  const { message } = failed;
  await weir.child.until('the same', ({ stderr }) => stderr.includes(message) || undefined);
  await json.until('the failed flow', ({ stdout }) => stdout.includes('"dead"') || undefined);
  await shown.until('the failed flow', ({ stdout }) => stdout.includes('dead') || undefined);

  const { missed } = await requestStatus(weir.controlPath);
  assert.equal(missed.followed_lines, 0);
  await weir.stop();
  for (const command of [shown, json]) {
    const { code } = await within(command.exited, 'the end of weir log');
    assert.deepEqual([code, command.stderr], [0, '']);
  }
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z /gm;
  const logged = weir.child.stderr.replaceAll(time, '');
  const followed = shown.stdout.replaceAll(time, '').trimEnd();
  assert.ok(logged.startsWith(followed), followed);
  assert.match(followed, /INFO svc_app: inbound socks listening on .*\n(?:.*\n)+.* shutting down$/);
  for (const line of json.stdout.trimEnd().split('\n')) {
    assert.notEqual((JSON.parse(line) as { target: string }).target, 'svc_app::instance');
  }
  assert.ok(![shown, json].some(({ stdout }) => stdout.includes(HOST)));
});

test('weir log that is not read says where lines were lost, and how many', async () => {
  await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
  const options = ['--socket', weir.controlPath];
  await using shown = weirCommand(['log', ...options]);
  await using json = weirCommand(['log', '--json', ...options]);
  await requestReload(weir.controlPath, 'followed');
  for (const command of [shown, json]) {
    await command.until('a line', ({ stdout }) => stdout.includes('followed') || undefined);
    command.signal('SIGSTOP');
  }
  const cause = 'x'.repeat(500);
  const logMany = async (): Promise<number> => {
    for (let count = 0; count < 200; count++) await requestReload(weir.controlPath, cause);
    return (await requestStatus(weir.controlPath)).missed.followed_lines;
  };
  await eventually('a lost line', async () => (await logMany()) > 0);
  // By now for both.
  const lost = await logMany();
  for (const command of [shown, json]) command.signal('SIGCONT');
  const textOf = ({ stdout }: Child): number | undefined => {
    const [, count] =
      /^\((\d+) lines? (?:was|were) lost here: this command was not read\)$/m.exec(stdout) ?? [];
    return count === undefined ? undefined : Number(count);
  };
  const jsonOf = ({ stdout }: Child): number | undefined => {
    const [, count] = /^\{"lost":(\d+)\}$/m.exec(stdout) ?? [];
    return count === undefined ? undefined : Number(count);
  };
  const told = [await shown.until('the loss', textOf), await json.until('the loss', jsonOf)];
  assert.equal((told[0] ?? 0) + (told[1] ?? 0), lost);
  await requestReload(weir.controlPath, 'afterwards');
  for (const command of [shown, json]) {
    await command.until('a line', ({ stdout }) => stdout.includes('afterwards') || undefined);
  }
});

test('weir log ends without an error when its reader has enough, and when it gets no log', async () => {
  await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
  const line = `set -o pipefail; ${commandLine([...program(), 'log', '--socket', weir.controlPath])} | head -n 1`;
  await using piped = new Child('bash', ['-c', line]);
  await piped.until('a line', ({ stdout }) => stdout.endsWith('\n') || undefined);
  await eventually('the end of the pipe', async () => {
    await requestReload(weir.controlPath, 'another line');
    return piped.ended;
  });
  assert.deepEqual([piped.ended?.code, piped.stderr], [0, '']);
  assert.equal(piped.stdout.trimEnd().split('\n').length, 1);

  const latest = await runWeir([
    'log',
    '--no-follow',
    '--level=error',
    '--socket',
    weir.controlPath,
  ]);
  assert.deepEqual([latest.ended?.code, latest.stdout, latest.stderr], [0, '', '']);
  const refused = await runWeir(['log', '--level=loud', '--socket', weir.controlPath]);
  assert.equal(refused.ended?.code, 1);
  assert.match(refused.stderr, /^weir log: "loud" is not a log filter/);
  await weir.stop('SIGKILL');
  const none = await runWeir(['log', '--socket', weir.controlPath]);
  assert.equal(none.ended?.code, 1);
  assert.match(none.stderr, /^weir log: no log through .*: /);
});
