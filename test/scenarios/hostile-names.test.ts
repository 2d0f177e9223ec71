import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { parseAddress } from '../support/data/address.ts';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { suite, test } from 'node:test';
import { ctl } from '../../packages/weir/src/cli/control/ctl.ts';
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

  /** Files that are refused in words that hold such a text, and what the words begin with. */
  const REFUSALS: readonly (readonly [words: RegExp, config: string])[] = [
    [/duplicate outbound tag: a/, freedom('a').replace('"a"', named('a')).repeat(2)],
    [/unknown field `key/, `${named('key')} = 1\n`],
    [/outbound a/, `[[outbound]]\ntag = ${named('a')}\nprotocol = "trojan"\n`],
    [/nowhere/, `[route]\ndefault = ${named('nowhere')}\n`],
    [/nowhere/, `[[route.rule]]\noutbound = ${named('nowhere')}\n`],
    [/balancer b/, `[[balancer]]\ntag = ${named('b')}\noutbounds = [${named('nowhere')}]\n`],
    [/cannot be balanced/, `[[balancer]]\ntag = ${named('b')}\noutbounds = ["block"]\n`],
    [
      /inbound i/,
      `[[inbound]]\ntag = ${named('i')}\nprotocol = "socks"\nport = 0\nsettings = { x = 1 }\n`,
    ],
    [
      /invalid domain regex \(x/,
      `[[route.rule]]\noutbound = "direct"\ndomain_regex = [${named('(x')}]\n`,
    ],
    [/subscribe file .*nodes/, `[subscribe]\npath = ${named('nodes')}\n`],
    [
      /cert/,
      `[[inbound]]\ntag = ${named('i')}\nprotocol = "trojan"\nport = 0\n[inbound.stream]\nnetwork = "tls"\n[inbound.stream.tls]\ncert_file = ${named('cert')}\nkey_file = "x"\n`,
    ],
  ];

  test('in the reasons of refused files, in --test, at a reload, in the API and in the log', async () => {
    const base = `${API}${socksIn()}${freedom()}[[outbound]]\ntag = "block"\nprotocol = "blackhole"\n`;
    await using weir = await Weir.start(base, { control: true, env: { RUST_LOG: 'info' } });
    const file = join(weir.folder, 'weir.toml');
    const [, address = ''] = await weir.child.until(
      'the API',
      ({ stderr }) => /svc_app: API listening on (\S+)$/m.exec(stderr) ?? undefined,
    );
    for (const [words, more] of REFUSALS) {
      // A key comes before all tables.
      await writeFile(file, more.startsWith('"') ? more + base : base + more);
      const [checked, reloaded] = await Promise.all([
        runWeir(['--test', '--config', file]),
        runWeir(['reload', weir.controlPath]),
      ]);
      const { text } = await new ApiClient(parseAddress(address)).ask('POST', '/v1/reload');
      const { error } = JSON.parse(text) as { readonly error: string };
      const ctlText = await shown('reload', '--api', address);
      const outputs = {
        '--test': checked.stderr,
        reload: reloaded.stderr,
        API: error,
        ctl: ctlText,
      };
      assert.deepEqual([checked.ended?.code, reloaded.ended?.code], [1, 1], more);
      assert.match(checked.stderr, words);
      for (const [what, output] of Object.entries(outputs)) {
        assertHarmless(output, `${what} of ${more}`);
      }
    }
    await writeFile(file, `${base}${freedom('new').replace('"new"', named('new'))}`);
    const applied = await runWeir(['reload', weir.controlPath]);
    assert.match(applied.stdout, /^applied, built outbound new/);
    assertHarmless(applied.stdout, 'reload');
    const status = await runWeir(['status', '--socket', weir.controlPath]);
    assertHarmless(status.stdout, 'status');
    await weir.stop();
    assertHarmless(weir.child.stderr, 'the log');
  });

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
