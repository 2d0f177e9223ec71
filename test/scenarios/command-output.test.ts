import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { UsageWriter } from '@weir/watch/usage';
import { COMMANDS } from '../../packages/weir/src/cli/commands.ts';
import { sourceFiles, sourceText } from '../../tools/architecture/imports.ts';
import { encodeGeosite } from '../support/data/geo-fixture.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { startProvider, type Provider } from '../support/subscribe/provider.ts';
import { eventually, within } from '../support/wait.ts';
import { shared } from '../support/shared.ts';

/*
 * What becomes of a command's output: in a pipe that is read late or not at all, and on a disk that is full. Each command of
 * the table is run, so that a new one cannot lose anything.
 */

const FULL = '/dev/full';
const noFull = existsSync(FULL) ? false : `there is no ${FULL}`;

/** More than a pipe holds, in each form in which a command reads it. */
const LINKS = Array.from(
  { length: 1000 },
  (_, index) =>
    `trojan://password${index}@198.51.100.7:443?sni=a.example#${'name'.repeat(20)}-${index}`,
).join('\n');
const USERS = Array.from(
  { length: 1200 },
  (_, index) =>
    `  { id = "00000000-0000-4000-8000-${String(index).padStart(12, '0')}" }, # name: ${'user'.repeat(10)}-${index}\n`,
).join('');
const SERVER = `[[inbound]]
tag = "vless"
protocol = "vless"
listen = "192.0.2.1"
port = 443
settings = { users = [
${USERS}] }

${freedom()}`;
const TUN =
  '[[inbound]]\ntag = "tun"\nprotocol = "tun"\n[inbound.settings]\naddress = ["198.18.0.1/16"]\n';

let folder: Awaited<ReturnType<typeof scratch>>;
let provider: Provider;
let weir: Weir;
const at = (name: string): string => join(folder.path, name);

shared(async (use) => {
  folder = use(await scratch());
  provider = use(await startProvider((response) => void response.end(LINKS)));
  weir = use(await Weir.start(`${API}${socksIn()}${freedom()}`, { control: true }));
  await writeFile(at('links'), LINKS);
  await writeFile(
    at('geosite.dat'),
    encodeGeosite([{ code: 'ONE', domains: [{ type: 'plain', value: 'a' }] }]),
  );
  await writeFile(at('weir.toml'), freedom());
  await writeFile(at('server.toml'), SERVER);
  await writeFile(at('tun.toml'), `${TUN}${freedom()}`);
  new UsageWriter(at('usage.db'))[Symbol.dispose]();
});
/** How each command is run so that it prints its result and ends, by the name of the command. */
const running = (): readonly string[] => ['--socket', weir.controlPath];
const INVOCATIONS: Readonly<Record<string, () => readonly string[]>> = {
  run: () => ['--version', '--verbose'],
  check: () => ['--config', at('weir.toml')],
  version: () => ['--verbose'],
  help: () => [],
  ctl: () => ['routes', ...running()],
  reload: running,
  drain: () => ['--undo', ...running()],
  status: running,
  log: () => ['--no-follow', ...running()],
  'log-level': () => ['--help'],
  // These serve, and print where.
  dashboard: () => ['--help'],
  'clash-api': () => ['--help'],
  top: running,
  metrics: () => ['--once', ...running()],
  diagnose: () => [
    '--yes',
    '--without',
    'profile',
    '--without',
    'heap',
    '--output',
    at(`archive-${names++}`),
    ...running(),
  ],
  import: () => [at('links')],
  subscribe: () => [
    'add',
    'home',
    provider.url,
    '--dry-run',
    '--json',
    '--config',
    at('weir.toml'),
  ],
  probe: () => ['direct', '--url', provider.url, '--tries', '1', ...running()],
  fetch: () => [provider.url],
  user: () => ['list', '--json', '--config', at('server.toml')],
  usage: () => ['--database', at('usage.db')],
  generate: () => ['uuid'],
  share: () => ['--host', 'a.example', '--tls', '--config', at('server.toml')],
  links: () => ['list', '--url', 'https://a.example/', '--config', at('server.toml')],
  show: () => ['--json', '--config', at('server.toml')],
  format: () => ['-'],
  explain: () => ['a.example:443', '--config', at('weir.toml')],
  geo: () => ['list', '--geosite', at('geosite.dat')],
  schema: () => [],
  tun: () => ['check', '--config', at('tun.toml')],
  completion: () => ['bash'],
};
let names = 0;

/** Commands whose result is more than a pipe holds. */
const LONG = ['import', 'subscribe', 'fetch', 'user', 'share', 'links', 'show', 'format'];

const wordsOf = (name: string): readonly string[] =>
  name === 'run' ? invocation(name) : [name, ...invocation(name)];

function invocation(name: string): readonly string[] {
  const words = INVOCATIONS[name];
  assert.ok(words, `the test has no invocation of ${name}`);
  return words();
}

/**
 * Runs a command in a shell that replaces some of its streams, to its end.
 *
 * @param first a command of the shell before it, such as a limit
 */
async function redirected(
  words: readonly string[],
  redirections: string,
  input = '',
  first?: string,
) {
  const source = await sourceOf(input);
  await using child = weirCommand(words, {
    wrap: ['sh', '-c', `${first ?? ':'}; exec "$@" < ${source} ${redirections}`, 'sh'],
    // The files of Node's cache would be cut by a limit as well.
    ...(first !== undefined && { env: { NODE_DISABLE_COMPILE_CACHE: '1' } }),
  });
  const { code, signal } = await within(child.exited, `the end of ${child.name}`);
  return { code, signal, stdout: child.stdout, stderr: child.stderr };
}

const inputOf = (name: string): string => (name === 'format' ? SERVER : '');

/** A file that a command gets as its standard input. */
async function sourceOf(input: string): Promise<string> {
  const path = at(`input.${names++}`);
  await writeFile(path, input);
  return path;
}

test('every command is tried', () => {
  assert.deepEqual(
    Object.keys(INVOCATIONS).toSorted(),
    COMMANDS.map(({ name }) => name).toSorted(),
  );
});

test('no part of the source writes to the streams of the process itself', async () => {
  for (const path of await sourceFiles()) {
    assert.doesNotMatch(
      sourceText(path),
      /process\.std(?:out|err)\.write\(|console\.(?:log|error)\(/,
      path,
    );
  }
});

describe('a full disk is an error of a command', { skip: noFull }, () => {
  for (const { name } of COMMANDS) {
    test(`for the output of ${name}`, async () => {
      const { code, stderr } = await redirected(wordsOf(name), `> ${FULL}`, inputOf(name));
      assert.match(
        stderr,
        /^weir: cannot write to standard output: ENOSPC: no space left on device, write$/m,
      );
      assert.equal(code, 1);
    });
  }

  const serving: Readonly<Record<string, () => readonly string[]>> = {
    metrics: () => ['metrics', ...running()],
    'clash-api': () => ['clash-api', ...running()],
    dashboard: () => ['dashboard', ...running()],
    links: () => ['links', 'serve', '--host', 'a.example', '--config', at('server.toml')],
  };
  for (const [name, words] of Object.entries(serving)) {
    test(`for the address that ${name} prints, and it serves on`, async () => {
      await using child = weirCommand([...words(), '--listen', '127.0.0.1:0'], {
        wrap: ['sh', '-c', `exec "$@" > ${FULL}`, 'sh'],
      });
      await child.until(
        'the error',
        ({ stderr }) => /standard output: ENOSPC/.test(stderr) || undefined,
      );
      child.signal('SIGTERM');
      assert.deepEqual(await within(child.exited, 'the end'), { code: 1, signal: null });
    });
  }

  test('when the lines on standard error are lost', async () => {
    assert.equal((await redirected(wordsOf('import'), `2> ${FULL}`)).code, 1);
  });

  test('that has room for a part of the output', async () => {
    // A limit on the size of files, in blocks of 512 bytes, ends a write as a disk does that is full in the middle of it.
    const limit = 'ulimit -f 128';
    const { code, stderr } = await redirected(
      wordsOf('import'),
      `> ${at('part')} 2> /dev/null`,
      '',
      limit,
    );
    assert.equal(code, 1, stderr);
    assert.equal(statSync(at('part')).size, 65_536);
  });
});

describe('all that a command prints reaches a pipe that is read late', () => {
  for (const name of LONG) {
    test(`from ${name}`, async () => {
      const [words, input] = [wordsOf(name), inputOf(name)];
      const whole = at(`${name}.out`);
      assert.equal((await redirected(words, `> ${whole}`, input)).code, 0);
      assert.ok(statSync(whole).size > 65_536, `${statSync(whole).size} bytes`);
      assert.equal(await readLate(words, input, 'stdout'), readFileSync(whole, 'utf8'));
    });
  }

  test('from import, on standard error', async () => {
    const words = [...wordsOf('import'), '--report', 'json'];
    const whole = at('report.out');
    assert.equal((await redirected(words, `> /dev/null 2> ${whole}`)).code, 0);
    assert.ok(statSync(whole).size > 65_536, `${statSync(whole).size} bytes`);
    assert.equal(await readLate(words, '', 'stderr'), readFileSync(whole, 'utf8'));
  });
});

/**
 * What a command writes to one of its streams, which is a pipe that is read only once the process waits for that, or has ended.
 */
async function readLate(
  words: readonly string[],
  input: string,
  name: 'stdout' | 'stderr',
): Promise<string> {
  const source = await sourceOf(input);
  const [pid, go, status] = [`${source}.pid`, `${source}.go`, `${source}.status`];
  const redirections = name === 'stdout' ? '2> /dev/null' : '2>&1 > /dev/null';
  const command = `sh -c 'echo $$ > ${pid}; exec "$@" ${redirections}' sh "$@" < ${source}`;
  const script = `mkfifo ${go}; { ${command}; echo $? > ${status}; } | { read -r _ < ${go}; cat; }`;
  await using child = weirCommand(words, { wrap: ['sh', '-c', script, 'sh'] });
  const id = await eventually('its id', () => Number(textOf(pid)) || undefined);
  await untilIdle(id);
  await writeFile(go, '\n');
  await within(child.exited, `the end of ${child.name}`);
  assert.equal(textOf(status), '0\n');
  return child.stdout;
}

const textOf = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;

/** Looks in a row, 20 ms apart, at which a process has done nothing since the first. */
const IDLE_LOOKS = 15;

/** Waits until a process has ended or waits for something. */
async function untilIdle(pid: number): Promise<void> {
  let before: string | undefined;
  let looks = 0;
  await eventually(`process ${pid} idle or ended`, () => {
    const [, state, ...fields] = /\) (.) (.*)$/s.exec(textOf(`/proc/${pid}/stat`) ?? '') ?? [];
    if (state === undefined || state === 'Z') return true;
    // Processor time of the process in both modes, after ten fields.
    const now = state + fields.join().split(' ').slice(10, 12).join();
    looks = state === 'S' && now === before ? looks + 1 : 0;
    before = now;
    return looks >= IDLE_LOOKS;
  });
}

test('a reader that has closed its end is no error, and nothing is said', async () => {
  for (const name of LONG) {
    const words = wordsOf(name);
    const source = await sourceOf(inputOf(name));
    const script = `{ "$@" < ${source}; echo "status $?" >&2; } | head -c 1`;
    await using child = weirCommand(words, { wrap: ['sh', '-c', script, 'sh'] });
    await within(child.exited, `the end of ${child.name}`);
    assert.equal(child.stdout.length, 1, name);
    assert.match(child.stderr, /^status 0$/m, name);
    assert.doesNotMatch(child.stderr, /EPIPE|at .*node:|standard output/, name);
  }
});
