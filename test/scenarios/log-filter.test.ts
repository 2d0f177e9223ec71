import assert from 'node:assert/strict';
import test from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { bannerServer } from '../support/peers/servers.ts';
import { greet5 } from '../support/peers/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

/**
 * The lines of a process that starts and stops, logged at info, and of one that cannot bind, logged
 * at error.
 */
type Seen = 'nothing' | 'errors' | 'both';

/**
 * `level` of [log] (absent: no table), RUST_LOG (absent: not set), what is seen: which of the two decides, and
 * each outcome. What filters mean is in packages/base/test/unit/log/filter.test.ts.
 */
const CASES: readonly (readonly [level: string | undefined, env: string | undefined, Seen])[] = [
  [undefined, undefined, 'both'],
  ['error', undefined, 'errors'],
  ['=,,', undefined, 'errors'],
  ['error,svc_app=info', undefined, 'both'],
  ['OFF', undefined, 'nothing'],
  ['info', '', 'nothing'],
  ['info', 'error', 'errors'],
  ['off', 'info', 'both'],
  ['error', 'a=b=c', 'errors'],
];

test('the log contains the lines that its filter passes', async (t) => {
  await using holder = await bannerServer('taken');
  for (const [level, env, seen] of CASES) {
    const name = `level ${JSON.stringify(level)}, RUST_LOG ${JSON.stringify(env)}: ${seen}`;
    await t.test(name, async () => {
      const log = level === undefined ? '' : `[log]\nlevel = "${level}"\n`;
      const [good, bad, invalid] = await Promise.all([
        startAndStop(log, env),
        failToBind(log, env, holder.port),
        beInvalid(log + INVALID[0], env, ['--test']),
      ]);
      if (seen === 'both') assert.match(good, / INFO svc_app: inbound socks listening on /);
      else assert.equal(good, '');
      if (seen === 'nothing') assert.equal(bad, '');
      else assert.match(bad, / ERROR svc_app: .*127\.0\.0\.1/);
      if (seen === 'nothing') assert.equal(invalid, '');
      else assert.match(invalid, / ERROR svc_app: configuration invalid: /);
    });
  }
});

/** Standard error of a life without mishaps. The port is known before, for the log may be silent. */
async function startAndStop(log: string, env: string | undefined): Promise<string> {
  const address = { host: '127.0.0.1', port: await freePort() };
  await using weir = await Weir.launch(onPort(log, address.port), { env: { RUST_LOG: env } });
  // It serves once it has started as a whole; a stop before that ends the start.
  await eventually('Weir to serve', async () => {
    try {
      using socket = disposable(await open(address));
      await greet5(socket);
      return true;
    } catch {
      return false;
    }
  });
  assert.deepEqual(await weir.stop(), { code: 0, signal: null });
  return weir.child.stderr;
}

/** Standard error of a start at a port that is taken. */
async function failToBind(log: string, env: string | undefined, port: number): Promise<string> {
  await using weir = await Weir.launch(onPort(log, port), { env: { RUST_LOG: env } });
  const { code } = await within(weir.child.exited, 'a start that fails to end');
  assert.equal(code, 1);
  return weir.child.stderr;
}

/** Invalid in its shape, in its meaning, in a protocol, and in `[api]`. */
const INVALID = [
  `${freedom()}colour = "red"\n`,
  socksIn(),
  `${freedom()}[[outbound]]\ntag = "x"\nprotocol = "y"\n`,
  `${freedom()}[api]\nsecret = ""\n`,
] as const;

/** Standard error of a check, or of a start, that finds the configuration invalid. */
async function beInvalid(
  config: string,
  env: string | undefined,
  args: readonly string[],
): Promise<string> {
  await using weir = await Weir.launch(config, { env: { RUST_LOG: env }, args });
  const { code } = await within(weir.child.exited, 'the end of an invalid start');
  assert.equal(code, 1);
  assert.equal(weir.child.stdout, '');
  return weir.child.stderr;
}

test('[log].level applies to configuration errors of every kind', async () => {
  for (const args of [['--test'], []]) {
    for (const rest of INVALID) {
      const [silent, shown] = await Promise.all([
        beInvalid(`[log]\nlevel = "off"\n${rest}`, undefined, args),
        beInvalid(`[log]\nlevel = "error"\n${rest}`, undefined, args),
      ]);
      assert.equal(silent, '');
      assert.match(shown, / ERROR svc_app: configuration invalid: /);
    }
  }
});

test('where [log] cannot be read, the level of configuration errors is info', async (t) => {
  const cases = [
    ['a file that is not TOML', '[log]\nlevel = "off"\n[['],
    ['a level that is no string', `[log]\nlevel = 0\n${freedom()}`],
    ['a table with an unknown key', `[log]\nlevel = "off"\ncolour = 1\n${freedom()}`],
  ] as const;
  for (const [name, config] of cases) {
    await t.test(name, async () => {
      for (const [env, shown] of [
        [undefined, true],
        ['off', false],
      ] as const) {
        await using weir = await Weir.launch(config, { args: ['--test'], env: { RUST_LOG: env } });
        assert.equal((await within(weir.child.exited, 'the end of the check')).code, 1);
        assert.equal(/ ERROR svc_app: configuration invalid: /.test(weir.child.stderr), shown);
      }
    });
  }
});

const onPort = (log: string, port: number): string =>
  log + socksIn().replace('port = 0', `port = ${port}`) + freedom();
