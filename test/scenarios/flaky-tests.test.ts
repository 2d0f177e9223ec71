import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Child } from '../support/process/child.ts';
import { scratch } from '../support/process/weir.ts';
import { eventually, within } from '../support/wait.ts';

const RUNNER = fileURLToPath(new URL('../support/suite/made-up.ts', import.meta.url));
const CI_RUN = fileURLToPath(new URL('../../.ci/run', import.meta.url));

const IMPORTS = `import { existsSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
const failsOnce = (name) => {
  if (existsSync(name)) return;
  writeFileSync(name, '');
  throw new Error('only once');
};
`;

interface Result {
  readonly code: number | null;
  readonly flaky: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly stdout: string;
}

/** Runs made-up test files, by name, as a suite whose failures are run again. */
async function runSuite(
  files: Readonly<Record<string, string>>,
  { kind = 'process', fileSeconds = 100 } = {},
): Promise<Result> {
  await using folder = await scratch();
  for (const [name, body] of Object.entries(files))
    await writeFile(join(folder.path, name), IMPORTS + body);
  await using child = new Child(process.execPath, [RUNNER, kind, ...Object.keys(files)], {
    cwd: folder.path,
    // A run within a test of node's runs nothing.
    env: { NODE_TEST_CONTEXT: undefined, WEIR_FILE_SECONDS: String(fileSeconds) },
  });
  const { code } = await within(child.exited, 'the end of a suite', 100_000);
  const { stdout } = child;
  const counts = Object.fromEntries(
    Array.from(stdout.matchAll(/^ℹ (\w+) (\d+)$/gm), ([, name, count]) => [name, Number(count)]),
  );
  return { code, counts, flaky: flakyLines(stdout), stdout };
}

const flakyLines = (text: string): string[] =>
  Array.from(text.matchAll(/^flaky: (.*)$/gm), ([, line = '']) => line);

/** The counts but those of suites and of time, which say nothing here. */
const COUNTED = ['tests', 'pass', 'fail', 'cancelled', 'skipped', 'flaky'];

const countsOf = ({ counts }: Result): string =>
  COUNTED.map((name) => `${counts[name]} ${name}`).join(', ');

describe('the tests that start processes', { concurrency: 2 }, () => {
  test('pass without a second attempt', async () => {
    const result = await runSuite({
      'a.test.mjs': "test('one', () => {}); test.skip('two', () => {});",
      'b.test.mjs': "describe('all', () => { test('three', () => {}); });",
    });
    assert.equal(countsOf(result), '3 tests, 2 pass, 0 fail, 0 cancelled, 1 skipped, 0 flaky');
    assert.equal(result.code, 0);
    assert.doesNotMatch(result.stdout, /once more/);
  });

  test('pass when one of them passes at the second attempt, which is named', async () => {
    const result = await runSuite({
      'a.test.mjs':
        "describe('all', () => { test('one', () => failsOnce('one')); test('two', () => {}); });",
      'b.test.mjs': "test('three', () => {});",
    });
    assert.deepEqual(result.flaky, ['a.test.mjs: all › one']);
    assert.equal(countsOf(result), '3 tests, 3 pass, 0 fail, 0 cancelled, 0 skipped, 1 flaky');
    assert.equal(result.code, 0);
  });

  test('fail when one of them fails twice', async () => {
    const result = await runSuite({
      'a.test.mjs': "test('one', () => { throw new Error(); });",
      'b.test.mjs': "test('two', () => failsOnce('two'));",
    });
    assert.deepEqual(result.flaky, ['b.test.mjs: two']);
    assert.equal(countsOf(result), '2 tests, 1 pass, 1 fail, 0 cancelled, 0 skipped, 1 flaky');
    assert.equal(result.code, 1);
  });

  test('pass with three that need a second attempt, and fail with four', async () => {
    const once = (name: string): string => `test('${name}', () => failsOnce('${name}'));`;
    const three = { 'a.test.mjs': once('one') + once('two'), 'b.test.mjs': once('three') };
    const some = await runSuite(three);
    assert.equal(countsOf(some), '3 tests, 3 pass, 0 fail, 0 cancelled, 0 skipped, 3 flaky');
    assert.equal(some.code, 0);

    const many = await runSuite({ ...three, 'c.test.mjs': once('four') });
    assert.equal(many.flaky.length, 4);
    assert.equal(countsOf(many), '4 tests, 4 pass, 0 fail, 0 cancelled, 0 skipped, 4 flaky');
    assert.equal(many.code, 1);
  });

  test('fail when the process of a file crashes twice, and pass when it does so once', async () => {
    const twice = await runSuite({
      'a.test.mjs': "test('one', () => {}); test('two', () => process.exit(3));",
      'b.test.mjs': "test('three', () => {});",
    });
    assert.equal(twice.counts['fail'], 1);
    assert.equal(twice.code, 1);

    const once = await runSuite({
      'a.test.mjs':
        "test('one', () => {}); test('two', () => { try { failsOnce('two'); } catch { process.abort(); } });",
    });
    assert.deepEqual(once.flaky, ['a.test.mjs: the file as a whole']);
    assert.equal(countsOf(once), '2 tests, 2 pass, 0 fail, 0 cancelled, 0 skipped, 1 flaky');
    assert.equal(once.code, 0);
  });

  test('fail when a file does not load', async () => {
    const result = await runSuite({ 'a.test.mjs': "import './absent.mjs';" });
    assert.equal(countsOf(result), '1 tests, 0 pass, 1 fail, 0 cancelled, 0 skipped, 0 flaky');
    assert.equal(result.code, 1);
  });

  for (const [how, body] of [
    ['keeps a timer', "test('one', () => {}); setInterval(() => {}, 1000);"],
    ['does not return', "test('one', () => { for (;;); });"],
  ] as const) {
    test(`fail when a file ${how} past its time limit`, async () => {
      const result = await runSuite({ 'a.test.mjs': body }, { fileSeconds: 2 });
      assert.match(result.stdout, /a\.test\.mjs was ended after 2 s/);
      assert.equal(result.counts['cancelled'], 1);
      assert.equal(result.code, 1);
    });
  }

  test('count a subtest and the test around it as failed, and name the first alone', async () => {
    const parent = (inner: string): string =>
      `test('all', async (t) => { await t.test('one', () => { ${inner} }); await t.test('two', () => {}); });`;
    const twice = await runSuite({ 'a.test.mjs': parent('throw new Error();') });
    assert.equal(countsOf(twice), '3 tests, 1 pass, 2 fail, 0 cancelled, 0 skipped, 0 flaky');
    assert.equal(twice.code, 1);

    const once = await runSuite({ 'a.test.mjs': parent("failsOnce('one');") });
    assert.deepEqual(once.flaky, ['a.test.mjs: all › one']);
    assert.equal(countsOf(once), '3 tests, 3 pass, 0 fail, 0 cancelled, 0 skipped, 1 flaky');
  });

  test('fail when a hook fails, whether it cancels tests or runs after them', async () => {
    const suite = (hook: string, body: string): string =>
      `describe('all', () => { ${hook}(() => { ${body} }); test('one', () => {}); test('two', () => {}); });`;
    const before = await runSuite({ 'a.test.mjs': suite('before', 'throw new Error();') });
    assert.equal(countsOf(before), '2 tests, 0 pass, 0 fail, 2 cancelled, 0 skipped, 0 flaky');
    assert.equal(before.code, 1);

    const after = await runSuite({ 'a.test.mjs': suite('after', 'throw new Error();') });
    assert.equal(countsOf(after), '2 tests, 2 pass, 1 fail, 0 cancelled, 0 skipped, 0 flaky');
    assert.equal(after.code, 1);

    const once = await runSuite({ 'a.test.mjs': suite('before', "failsOnce('hook');") });
    assert.deepEqual(once.flaky, ['a.test.mjs: all']);
    assert.equal(countsOf(once), '2 tests, 2 pass, 0 fail, 0 cancelled, 0 skipped, 1 flaky');
    assert.equal(once.code, 0);
  });

  test('are not run again when a great many files fail', async () => {
    const names = Array.from({ length: 13 }, (_, index) => `${index}.test.mjs`);
    const result = await runSuite(
      Object.fromEntries(
        names.map((name) => [name, `test('one', () => failsOnce('${name}.once'));`]),
      ),
    );
    assert.match(result.stdout, /^13 files failed: none of them is run again$/m);
    assert.equal(countsOf(result), '13 tests, 0 pass, 13 fail, 0 cancelled, 0 skipped, 0 flaky');
    assert.equal(result.code, 1);
  });
});

test('a test that starts no process fails at its first attempt', async () => {
  const files = { 'a.test.mjs': "test('one', () => failsOnce('one'));" };
  const result = await runSuite(files, { kind: 'strict' });
  assert.equal(countsOf(result), '1 tests, 0 pass, 1 fail, 0 cancelled, 0 skipped, 0 flaky');
  assert.equal(result.code, 1);
});

test('an uncaught error fails its file where promises are not followed to their tests', async () => {
  const late =
    'await new Promise((end) => setTimeout(() => { setImmediate(end); throw new Error("late"); }));';
  const files = {
    'a.test.mjs': `describe('all', () => { test('one', async () => { await null; ${late} }); test('two', () => {}); });`,
  };
  const result = await runSuite(files, { kind: 'strict' });
  assert.match(
    result.stdout,
    /^▶ all\n {2}✔ one .*\n {2}✔ two .*\n✔ all .*\nℹ Error: .*"Error: late"/m,
  );
  assert.equal(countsOf(result), '3 tests, 2 pass, 1 fail, 0 cancelled, 0 skipped, 0 flaky');
  assert.equal(result.code, 1);
});

test('files that share a process are counted together, and named when it crashes', async () => {
  const passing = "test('one', () => {});";
  const failing = "test('two', () => { throw new Error(); });";
  const failed = await runSuite(
    { 'a.test.mjs': passing, 'b.test.mjs': failing },
    { kind: 'together' },
  );
  assert.equal(countsOf(failed), '2 tests, 1 pass, 1 fail, 0 cancelled, 0 skipped, 0 flaky');
  assert.equal(failed.code, 1);

  const crashed = await runSuite(
    { 'a.test.mjs': passing, 'b.test.mjs': 'process.exit(3);' },
    { kind: 'together' },
  );
  assert.match(crashed.stdout, /the process that failed had a\.test\.mjs b\.test\.mjs/);
  assert.equal(crashed.counts['fail'], 1);
  assert.equal(crashed.code, 1);
});

test('a suite begins while the one before ends, and what failed is run again after both', async () => {
  const begun =
    'const wait = async (name) => { while (!existsSync(name)) await new Promise(setImmediate); };';
  const result = await runSuite(
    {
      'a.test.mjs': `${begun} test('one', async () => { await wait('b-began'); writeFileSync('a-ended', ''); });`,
      'b.test.mjs': `test('two', () => { writeFileSync('b-began', ''); failsOnce('two'); if (!existsSync('a-ended')) throw new Error(); });`,
    },
    { kind: 'suites' },
  );
  assert.deepEqual(result.flaky, ['b.test.mjs: two']);
  assert.deepEqual(
    Array.from(
      result.stdout.matchAll(/^ℹ (pass|flaky) (\d)$/gm),
      ([, name, count]) => `${name} ${count}`,
    ),
    ['pass 1', 'flaky 0', 'pass 1', 'flaky 1'],
  );
  assert.equal(result.code, 0);
});

test('a run that is asked to end ends the process of its test file, and counts it', async () => {
  await using folder = await scratch();
  await mkdir(join(folder.path, 'test/arm64'), { recursive: true });
  await writeFile(
    join(folder.path, 'test/arm64/a.test.ts'),
    `${IMPORTS}test('one', () => console.log('x')); writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000);`,
  );
  const main = fileURLToPath(new URL('../../tools/suite/main.ts', import.meta.url));
  await using child = new Child(process.execPath, [main, 'arm64'], {
    cwd: folder.path,
    env: { NODE_TEST_CONTEXT: undefined },
  });
  const file = join(folder.path, 'pid');
  const pid = await eventually('the process of the file', () =>
    existsSync(file) ? Number(readFileSync(file, 'utf8')) || undefined : undefined,
  );
  child.signal('SIGTERM');
  const { code } = await within(child.exited, 'the end of the run');
  assert.match(child.stdout, /^ℹ cancelled 1$/m);
  assert.doesNotMatch(child.stdout, /once more/);
  assert.equal(code, 1);
  await eventually('the end of the process of the file', () => !existsSync(`/proc/${pid}`));
});

/** The scripts of `.ci/run` that run tests, in its order. */
const SCRIPTS = ['test', 'test:rest'];

interface Script {
  readonly says: string;
  readonly code?: number;
}

const counted = (pass: number, fail: number, flaky: readonly string[]): string =>
  [
    ...flaky.map((name) => `flaky: ${name}`),
    ...[`tests ${pass + fail}`, `pass ${pass}`, `fail ${fail}`, 'cancelled 0', 'skipped 1'].map(
      (line) => `ℹ ${line}`,
    ),
    `ℹ todo 0`,
    `ℹ flaky ${flaky.length}`,
  ].join('\n');

/**
 * Runs `.ci/run` on a checkout whose commands are made up: all is installed, and `npm run NAME` says and
 * ends with what `scripts` has for it.
 */
async function runCi(
  scripts: Readonly<Record<string, Script>>,
): Promise<{ readonly code: number | null; readonly closing: readonly string[] }> {
  await using folder = await scratch();
  const put = async (path: string, text: string): Promise<void> => {
    const file = join(folder.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${text}\n`);
    await chmod(file, 0o755);
  };
  await mkdir(join(folder.path, '.ci'));
  await cp(CI_RUN, join(folder.path, '.ci/run'));
  for (const path of ['.venv/bin/python', '.venv/bin/sing-box', 'node_modules/.bin/node', 'bin/id'])
    await put(path, 'exit 0');
  await put(
    'bin/npm',
    `[ "$1" = run ] || exit 0; [ -x "scripts/$2" ] || exit 0; exec "scripts/$2"`,
  );
  for (const name of SCRIPTS) {
    const { says, code = 0 } = scripts[name] ?? { says: counted(10, 0, []) };
    await put(`scripts/${name}`, `cat <<'END'\n${says}\nEND\nexit ${code}`);
  }
  await using child = new Child('bash', [join(folder.path, '.ci/run')], {
    env: { PATH: `${join(folder.path, 'bin')}:${process.env['PATH']}` },
  });
  const { code } = await within(child.exited, 'the end of .ci/run');
  const [, closing = ''] = child.stdout.split('== result\n');
  return { code, closing: closing.trimEnd().split('\n') };
}

describe('.ci/run', { concurrency: 2 }, () => {
  test('sums up all suites in its last line', async () => {
    assert.deepEqual(await runCi({}), {
      code: 0,
      closing: ['0 flaky', '20 passed, 0 failed, 2 skipped'],
    });
  });

  test('names flaky tests of all suites and passes with three', async () => {
    const { code, closing } = await runCi({
      test: { says: counted(10, 0, ['a.test.ts: one', 'a.test.ts: two']) },
      'test:rest': { says: counted(10, 0, ['b.test.ts: three']) },
    });
    assert.deepEqual(flakyLines(closing.join('\n')), [
      'a.test.ts: one',
      'a.test.ts: two',
      'b.test.ts: three',
    ]);
    assert.deepEqual(closing.slice(-2), ['3 flaky', '20 passed, 0 failed, 2 skipped']);
    assert.equal(code, 0);
  });

  test('fails with more than three flaky tests, though no suite has as many', async () => {
    const { code, closing } = await runCi({
      test: { says: counted(10, 0, ['a.test.ts: one', 'a.test.ts: two']) },
      'test:rest': { says: counted(10, 0, ['b.test.ts: one', 'b.test.ts: two']) },
    });
    assert.deepEqual(closing.slice(-2), ['4 flaky', '20 passed, 1 failed, 2 skipped']);
    assert.equal(code, 1);
  });

  test('fails with failed tests, and with a suite that ends badly without one', async () => {
    const failed = await runCi({ test: { says: counted(8, 2, []), code: 1 } });
    assert.deepEqual(failed.closing, ['0 flaky', '18 passed, 2 failed, 2 skipped']);
    assert.equal(failed.code, 1);

    const crashed = await runCi({ test: { says: 'error TS2322', code: 2 } });
    assert.deepEqual(crashed.closing, ['0 flaky', '10 passed, 1 failed, 1 skipped']);
    assert.equal(crashed.code, 1);
  });
});

describe('test:repeat', () => {
  const REPEAT = fileURLToPath(new URL('../../tools/suite/repeat.ts', import.meta.url));
  const repeat = async (body: string): Promise<Child> => {
    await using folder = await scratch();
    await writeFile(join(folder.path, 'a.test.mjs'), IMPORTS + body);
    await using child = new Child(
      process.execPath,
      [REPEAT, 'a.test.mjs', '-n', '3', '--load', '1'],
      {
        cwd: folder.path,
        env: { NODE_TEST_CONTEXT: undefined },
      },
    );
    await within(child.exited, 'the end of the runs', 100_000);
    return child;
  };

  test('passes when each run of a file passes beside busy loops', async () => {
    const { ended, stdout } = await repeat("test('one', () => {});");
    assert.match(stdout, /a\.test\.mjs, 3 runs beside \d+ busy loops: 3 passed, 0 failed; from /);
    assert.equal(ended?.code, 0);
  });

  test('names what failed at times, and how often', async () => {
    const { ended, stdout } = await repeat(
      "describe('all', () => { test('one', () => failsOnce('one')); test('two', () => {}); });",
    );
    assert.match(stdout, /a\.test\.mjs, 3 runs beside \d+ busy loops: 2 passed, 1 failed; from /);
    assert.match(stdout, /^ {2}failed 1 times: all › one$/m);
    assert.equal(ended?.code, 1);
  });
});
