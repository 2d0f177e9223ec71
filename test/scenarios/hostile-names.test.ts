import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { suite, test } from 'node:test';
import { ctl } from '../../src/cli/ctl/ctl.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { assertHarmless, FORGERY } from '../support/data/harmless-output.ts';
import { eventually } from '../support/wait.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

const named = (name: string): string => JSON.stringify(name + FORGERY);

/** A file with such names; each line that the log has about one names it. */
const SUBSCRIBE = `
[[proxy_server]]
name = ${named('node')}
protocol = "freedom"
[[route_group]]
name = ${named('group')}
[[route_group.rule]]
domain_suffix = ["a.example"]
`;

const CONFIG = `${API}${socksIn()}${freedom()}
[subscribe]
path = "sub.toml"
[subscribe.routes]
${named('group')} = ${named('node')}
`;

/** Refused, in words that hold a name. */
const REFUSED = `${SUBSCRIBE}
[[route_group]]
name = ${named('cycle')}
inherit = { group = ${named('cycle')} }
`;

class Terminal extends Writable {
  readonly isTTY = true;
  text = '';

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** What `weir ctl` shows on a terminal. */
async function shown(...argv: string[]): Promise<string> {
  const [stdout, stderr] = [new Terminal(), new Terminal()];
  await ctl(argv, { stdout, stderr, env: {} });
  return stdout.text + stderr.text;
}

/** The ways in which the log is written, and what its lines begin with. */
const FORMATS = [
  ['text', {}, /^\d{4}-\S+Z +[A-Z]+ svc_app|^ {2}at |^weir/],
  ['JSON', { WEIR_LOG: 'json' }, /^\{.*\}$/],
  ['the journal', {}, /^<\d>[A-Z]+ svc_app|^<\d> {2}at /],
] as const;

suite('names of a subscribe file forge no line and reach no terminal', () => {
  for (const [format, env, line] of FORMATS) {
    test(`in the log as ${format}, at the start and at a reload that is refused`, async () => {
      await using folder = await scratch();
      const log = join(folder.path, 'log');
      await writeFile(log, '');
      const { dev, ino } = await stat(log, { bigint: true });
      const socket = join(folder.path, 'reload.sock');
      await using weir = await Weir.launch(CONFIG, {
        args: ['--reload-socket', socket],
        files: { 'sub.toml': SUBSCRIBE },
        wrap: ['/bin/sh', '-c', `exec "$@" 2>>'${log}'`, 'sh'],
        env: {
          ...env,
          RUST_LOG: 'debug',
          ...(format === 'the journal' && { JOURNAL_STREAM: `${dev}:${ino}` }),
        },
      });
      const logged = (pattern: RegExp) =>
        eventually(
          String(pattern),
          async () => pattern.exec(await readFile(log, 'utf8')) ?? undefined,
        );
      await logged(/API listening on [\d.:]+/);
      await eventually('the reload socket', () =>
        stat(socket).then(
          () => true,
          () => undefined,
        ),
      );
      await writeFile(join(weir.folder, 'sub.toml'), REFUSED);
      const reload = await runWeir(['reload', socket]);
      assert.equal(reload.ended?.code, 1);
      assert.match(reload.stderr, /cycle/);
      assertHarmless(reload.stdout + reload.stderr, 'weir reload');
      await logged(/keeping the running config/);
      await weir.stop();
      const text = await readFile(log, 'utf8');
      assert.match(text, /cycle/);
      assertHarmless(text, format);
      for (const one of text.trimEnd().split('\n')) assert.match(one, line);
    });
  }

  test('in --test, explain, and on the terminal of ctl', async () => {
    await using weir = await Weir.start(CONFIG, { files: { 'sub.toml': SUBSCRIBE } });
    const file = join(weir.folder, 'weir.toml');
    const [, address = ''] = await weir.child.until(
      'the API',
      ({ stderr }) => /svc_app: API listening on (\S+)$/m.exec(stderr) ?? undefined,
    );
    const api = ['--api', address];
    const routes = await shown('routes', ...api);
    assert.match(routes, /^group.*forged/m);
    assertHarmless(routes, 'ctl routes');
    assertHarmless(await shown('routes', '--json', ...api), 'ctl routes --json');
    assertHarmless(await shown('pick', `absent${FORGERY}`, 'direct', ...api), 'ctl pick');
    const explained = await runWeir(['explain', '--config', file, 'www.a.example:443']);
    assert.match(explained.stdout, /forged/);
    assertHarmless(explained.stdout + explained.stderr, 'explain');
    const asJson = await runWeir(['explain', '--json', '--config', file, 'www.a.example:443']);
    assert.match(asJson.stdout, /forged/);
    assertHarmless(asJson.stdout, 'explain --json');
    const valid = await runWeir(['--test', '--config', file]);
    assert.equal(valid.ended?.code, 0, valid.stderr);
    assertHarmless(valid.stdout + valid.stderr, '--test');

    await writeFile(join(weir.folder, 'sub.toml'), REFUSED);
    const refused = await runWeir(['--test', '--config', file]);
    assert.equal(refused.ended?.code, 1);
    assert.match(refused.stderr, /cycle/);
    assertHarmless(refused.stdout + refused.stderr, '--test of a refused file');
    const reload = await shown('reload', ...api);
    assert.match(reload, /cycle[^]*\nhint: /);
    assertHarmless(reload, 'ctl reload');
    await weir.stop();
  });
});
