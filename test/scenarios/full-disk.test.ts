import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { scratch, Weir, weirCommand } from '../support/process/weir.ts';
import { startProvider, type Provider } from '../support/subscribe/provider.ts';
import { within } from '../support/wait.ts';
import { shared } from '../support/shared.ts';

/*
 * Every command that writes a file, where a file has room for 512 bytes: a limit of the process on the size of its files, which ends
 * a write in the middle as a full disk does. What was there before is there afterwards, and nothing else.
 */

const LINKS = Array.from(
  { length: 40 },
  (_, index) => `trojan://password${index}@198.51.100.7:443?sni=a.example#node-${index}`,
).join('\n');
const TLS_USERS = Array.from(
  { length: 20 },
  (_, index) => `  { id = "00000000-0000-4000-8000-0000000000${String(index + 10)}" },\n`,
).join('');
const SERVER = `[[inbound]]\ntag = "vless"\nprotocol = "vless"\nlisten = "192.0.2.1"\nport = 443\nsettings = { users = [\n${TLS_USERS}] }\n\n${freedom()}`;

let folder: Awaited<ReturnType<typeof scratch>>;
let provider: Provider;
let weir: Weir;
let cases = 0;

shared(async (use) => {
  folder = use(await scratch());
  provider = use(await startProvider((response) => void response.end(LINKS)));
  weir = use(await Weir.start(`${API}${socksIn()}${freedom()}`, { control: true }));
});
/** A folder with these files. */
async function place(files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder.path, String(cases++));
  await mkdir(path);
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return path;
}

async function contentsOf(path: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(path)).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), 'utf8')])),
  );
}

/** Runs a command in a folder; in blocks of 512 bytes, `room` is what a file may hold. */
async function run(words: readonly string[], cwd: string, room: number | 'unlimited') {
  await using child = weirCommand(words, {
    cwd,
    wrap: ['sh', '-c', `ulimit -f ${room}; exec "$@"`, 'sh'],
    env: {
      XDG_RUNTIME_DIR: folder.path,
      // The limit would cut the files of Node's cache as well.
      ...(room !== 'unlimited' && { NODE_DISABLE_COMPILE_CACHE: '1' }),
    },
  });
  child.stdin.end();
  const { code } = await within(child.exited, `the end of ${child.name}`);
  return { code, stdout: child.stdout, stderr: child.stderr };
}

interface Case {
  readonly what: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly words: () => readonly string[];
}

const OLD = { 'old.txt': 'old '.repeat(100) };
const CONFIG = { 'weir.toml': freedom() };

const CASES: readonly Case[] = [
  {
    what: 'fetch -o over an old document',
    files: OLD,
    words: () => ['fetch', '-o', 'old.txt', provider.url],
  },
  { what: 'fetch -o of a new document', words: () => ['fetch', '-o', 'new.txt', provider.url] },
  {
    what: 'generate certificate',
    words: () => ['generate', 'certificate', 'a.example', '--output', '.'],
  },
  {
    what: 'generate server',
    words: () => ['generate', 'server', '--protocol', 'vless', '--name', 'a', '--output', '.'],
  },
  {
    what: 'generate --force over an old certificate',
    files: { 'a.example.cert.pem': 'old', 'a.example.key.pem': 'old' },
    words: () => ['generate', 'certificate', 'a.example', '--output', '.', '--force'],
  },
  {
    what: 'import --output',
    files: { links: LINKS },
    words: () => ['import', 'links', '--output', '.'],
  },
  {
    what: 'import --report-file over an old report',
    files: { links: LINKS, ...OLD },
    words: () => ['import', 'links', '--report', 'json', '--report-file', 'old.txt'],
  },
  {
    what: 'import --report-file',
    files: { links: LINKS },
    words: () => ['import', 'links', '--report', 'json', '--report-file', 'new.txt'],
  },
  {
    what: 'share --output',
    files: { 'weir.toml': SERVER },
    words: () => [
      'share',
      '--host',
      'a.example',
      '--tls',
      '--config',
      'weir.toml',
      '--output',
      'links',
    ],
  },
  {
    what: 'links list',
    files: { 'weir.toml': SERVER.replace(/(\d\d)" },/g, '$1" }, # name: user$1') },
    words: () => ['links', 'list', '--url', 'https://a.example/', '--config', 'weir.toml'],
  },
  {
    what: 'diagnose',
    words: () => [
      'diagnose',
      '--yes',
      '--output',
      'archive',
      '--without',
      'profile',
      '--without',
      'heap',
      '--socket',
      weir.controlPath,
    ],
  },
  {
    what: 'subscribe add',
    files: CONFIG,
    words: () => ['subscribe', 'add', 'home', provider.url, '--config', 'weir.toml'],
  },
  {
    what: 'user add',
    files: { 'weir.toml': SERVER },
    words: () => ['user', 'add', 'ann', '--inbound', 'vless', '--config', 'weir.toml'],
  },
  {
    what: 'format',
    files: { 'weir.toml': SERVER.replaceAll(' = ', '=') },
    words: () => ['format', 'weir.toml'],
  },
  {
    what: 'explain --batch --write',
    files: { ...CONFIG, batch: 'a.example:443 => other\n'.repeat(30) },
    words: () => ['explain', '--batch', 'batch', '--write', '--config', 'weir.toml'],
  },
];

describe('on a full disk old files stay and no new one is left', () => {
  for (const { what, files = {}, words } of CASES) {
    test(`by ${what}`, async () => {
      const path = await place(files);
      const { code, stderr } = await run(words(), path, 1);
      assert.deepEqual(await contentsOf(path), files, stderr);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /EFBIG: file too large/);
      // Once there is room, the same call succeeds.
      const again = await run(words(), path, 'unlimited');
      assert.notDeepEqual(await contentsOf(path), files, again.stderr);
      assert.doesNotMatch(again.stderr, /exists|EFBIG/);
    });
  }
});

test('fetch -o writes through links, and into what is not a file', async () => {
  const path = await place({});
  for (const [name, words] of [
    ['a link to a file', 'echo old > target; ln -s target link'],
    ['a link to nothing', 'rm target'],
  ] as const) {
    const script = `${words}; exec "$@"`;
    await using child = weirCommand(['fetch', '-o', 'link', provider.url], {
      cwd: path,
      wrap: ['sh', '-c', script, 'sh'],
    });
    assert.equal((await within(child.exited, 'the end')).code, 0, `${name}: ${child.stderr}`);
    assert.equal(readFileSync(join(path, 'target'), 'utf8'), LINKS, name);
  }
  await using child = weirCommand(['fetch', '-o', '/dev/stdout', provider.url], {
    wrap: ['sh', '-c', '"$@" | cat', 'sh'],
  });
  assert.equal((await within(child.exited, 'the end')).code, 0);
  assert.equal(child.stdout, LINKS);
});
