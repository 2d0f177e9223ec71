import assert from 'node:assert/strict';
import test from 'node:test';
import { freedom, socksIn } from '../support/config.ts';
import { bannerServer } from '../support/servers.ts';
import { within } from '../support/wait.ts';
import { Weir } from '../support/weir.ts';

/** A start that says one thing at info (the first inbound listens) and one at error (the second
 * cannot), and then ends: which of the two is seen tells the filter. */
type Seen = 'nothing' | 'errors' | 'both';

/** `level` of [log] (absent: no table), RUST_LOG (absent: not set), what is seen. */
const CASES: readonly (readonly [level: string | undefined, env: string | undefined, Seen])[] = [
  [undefined, undefined, 'both'],
  ['info', undefined, 'both'],
  ['INFO', undefined, 'both'],
  ['3', undefined, 'both'],
  ['error', undefined, 'errors'],
  ['1', undefined, 'errors'],
  ['0', undefined, 'nothing'],
  ['off', undefined, 'nothing'],
  ['warning', undefined, 'nothing'],
  ['', undefined, 'errors'],
  ['=,,', undefined, 'errors'],
  ['error,svc_app=info', undefined, 'both'],
  ['info,svc_app=off', undefined, 'nothing'],
  ['other=trace', undefined, 'nothing'],
  ['info', '', 'nothing'],
  ['info', 'error', 'errors'],
  ['off', 'info', 'both'],
  ['error', 'a=b=c', 'errors'],
];

test('the log shows what its filter lets through', async (t) => {
  await using holder = await bannerServer('taken');
  const second = socksIn('second').replace('port = 0', `port = ${holder.port}`);
  for (const [level, env, seen] of CASES) {
    const name = `level ${JSON.stringify(level)}, RUST_LOG ${JSON.stringify(env)}: ${seen}`;
    await t.test(name, async () => {
      const log = level === undefined ? '' : `[log]\nlevel = "${level}"\n`;
      const config = log + socksIn('first') + second + freedom();
      await using weir = await Weir.launch(config, { env: { RUST_LOG: env } });
      const { code } = await within(weir.child.exited, 'a start that fails to end');
      assert.equal(code, 1);
      const { stderr } = weir.child;
      const info = / INFO svc_app: inbound first listening on /.test(stderr);
      const error = / ERROR svc_app: /.test(stderr);
      const expected = { nothing: [false, false], errors: [false, true], both: [true, true] };
      assert.deepEqual([info, error], expected[seen], stderr);
      if (seen === 'nothing') assert.equal(stderr, '');
    });
  }
});
