import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { blackhole, freedom, rule, socksIn } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

const VALID = socksIn() + freedom();

/** The output of `--test` for a file of that name. */
async function tested(name: string, text: string, env: Readonly<Record<string, string>> = {}) {
  await using folder = await scratch();
  const file = join(folder.path, name);
  await writeFile(file, text);
  const weir = await runWeir(['--test', '--config', file], { env });
  const { code } = await weir.exited;
  return { code, file, stdout: weir.stdout, stderr: weir.stderr };
}

const MISTYPED = rule('direct', 'inbound_tag = ["sokcs"]');

test('--test prints warnings on standard error, and the verdict stays as it is', async () => {
  const { code, file, stdout, stderr } = await tested('weir.toml', `${VALID}${MISTYPED}`);
  assert.equal(stdout, 'Configuration OK.\n');
  assert.equal(code, 0);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(lines.length, 1);
  assert.ok(lines[0]?.startsWith(`warning: ${file}:`));
  assert.match(lines[0] ?? '', /: there is no inbound "sokcs"; did you mean "socks"\?$/);
});

test('--test prints the warnings that the log would show, and one of a mistyped level', async () => {
  const at = (level: string): string => `[log]\nlevel = "${level}"\n${VALID}${MISTYPED}`;
  assert.equal((await tested('weir.toml', at('error'))).stderr, '');
  assert.match((await tested('weir.toml', at('warn'))).stderr, /^warning: .*"sokcs"/);
  const { file, stderr } = await tested('weir.toml', at('warning'));
  const [line = '', ...others] = stderr.trimEnd().split('\n');
  assert.ok(line.startsWith(`warning: ${file}:2:9: [log] level: "warning" is not a level`));
  assert.deepEqual(others, []);
  assert.equal((await tested('weir.toml', at('warning'), { RUST_LOG: '' })).stderr, '');
});

test('--test prints nothing on standard error where there is no warning', async () => {
  assert.equal((await tested('weir.toml', VALID)).stderr, '');
});

test('a start logs warnings, and a reload only those that are new', async () => {
  const spare = blackhole('spare');
  await using weir = await Weir.start(VALID + spare);
  const warned = (text: string): number =>
    weir.child.stderr
      .split('\n')
      .filter((line) => / WARN svc_app::instance: /.test(line) && line.includes(text)).length;
  await weir.child.until('the warning', ({ stderr }) =>
    stderr.includes('outbound spare is not used') ? true : undefined,
  );
  await writeFile(
    join(weir.folder, 'weir.toml'),
    `${VALID}${spare}${rule('direct', 'domain_suffix = [".a.example"]')}`,
  );
  weir.child.signal('SIGHUP');
  await weir.child.until('the new warning', ({ stderr }) =>
    stderr.includes('domain_suffix ".a.example" matches nothing') ? true : undefined,
  );
  assert.equal(warned('outbound spare is not used'), 1);
  assert.equal(warned('matches nothing'), 1);
});

test('what helps on follows an error, whose own line stays as it is', async (t) => {
  const cases = [
    [
      'an unknown protocol',
      'weir.toml',
      VALID.replace('"socks"\nport', '"sock"\nport'),
      /ERROR svc_app: configuration invalid: unknown protocol\n {2}at \S+:3:12 \(inbound socks\)\n\S+ {2}WARN svc_app: hint: protocol = "sock" is unknown; .*did you mean "socks"\?\n$/,
    ],
    [
      'the place of settings',
      'weir.toml',
      `${VALID}[outbound.settings]\n[[inbound]]\ntag = "v"\nprotocol = "vless"\nport = 0\nsettings.user = 1\n`,
      /ERROR svc_app: configuration invalid: inbound v: invalid settings: unknown field `user`, expected `users`\n\S+ {2}WARN svc_app: hint: at \S+weir\.toml:\d+:10 \(inbound v\)\n\S+ {2}WARN svc_app: hint: did you mean `users`\?\n$/,
    ],
    ['JSON', 'config.json', '{"inbounds": []}', /hint: this looks like JSON, /],
    [
      'a missing folder',
      'weir.toml',
      `${VALID}[dns]\nca_file = "/nowhere/ca.pem"\n`,
      /hint: there is no folder \/nowhere\n/,
    ],
  ] as const;
  for (const [what, name, text, output] of cases) {
    await t.test(what, async () => {
      const { code, stdout, stderr } = await tested(name, text);
      assert.equal(stdout, '');
      assert.equal(code, 1);
      assert.match(stderr, output);
    });
  }
});

test('a mistyped option is named with the one that was meant', async () => {
  const weir = await runWeir(['--conifg', 'weir.toml']);
  assert.equal((await weir.exited).code, 2);
  assert.equal(
    weir.stderr,
    "weir: unknown option --conifg; did you mean --config?\nTry 'weir --help'.\n",
  );
});

test('two inbounds on one port end the start with the lines of both', async () => {
  const port = await freePort();
  const at = (tag: string): string => socksIn(tag).replace('port = 0', `port = ${port}`);
  await using weir = await Weir.launch(at('a') + at('b') + freedom());
  assert.equal((await weir.child.exited).code, 1);
  assert.match(weir.child.stderr, /WARN svc_app: hint: `ss -lntup/);
  assert.match(weir.child.stderr, /inbound b listens where inbound a in line 4 does/);
});
