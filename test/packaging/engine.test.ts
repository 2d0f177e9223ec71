import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { engineManifest, OWN } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { deadLinksBelow } from '../support/docs/pages.ts';
import { scratch } from '../support/process/weir.ts';
import { parseBill } from './bill.ts';
import { builtForms, ENGINE } from './built.ts';
import { finish } from './installed.ts';
import { installNode, npmCli, versionOf } from './old-node.ts';

/*
 * The package for hosts, installed by npm without a network into an empty project. `WEIR_TEST_NODES` names the binaries of
 * further Nodes that it is tried with, separated as PATH is.
 */

/** What the package may take when it is installed, with koffi's binary. */
const MAX_INSTALLED_BYTES = 15_000_000;

const NODES = [
  process.execPath,
  ...(process.env['WEIR_TEST_NODES'] ?? '').split(delimiter).filter((path) => path !== ''),
];

/** The oldest Node that hosts may have. */
const OLDEST = `${/\d+/.exec(engineManifest().engines['node'] ?? '')?.[0]}.0.0`;

/**
 * Starts two instances, moves bytes through each, reloads one with what a thread has to read, and stops them; the code of
 * both kinds of modules.
 */
const TRIAL = `
const config = { inbound: [{ tag: 'in', protocol: 'socks', port: 0 }], outbound: [{ tag: 'out', protocol: 'freedom' }] };

function trial({ Weir }, { createServer, connect }) {
  async function echoed(weir, origin) {
    const [{ address, port }] = weir.listeners();
    const socket = connect(port, address);
    const ports = [origin >> 8, origin & 255];
    socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, ...ports, ...Buffer.from('hello')]));
    let got = '';
    for await (const chunk of socket) {
      got += chunk.toString('latin1');
      if (got.endsWith('hello')) break;
    }
    return got.slice(-5);
  }
  return async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = server.address().port;
    const weirs = [await Weir.start({ config }), await Weir.start({ config })];
    const words = [];
    for (const weir of weirs) words.push(await echoed(weir, origin));
    const cidr = Array.from({ length: 1000 }, (_, at) => '10.0.' + (at >> 8) + '.' + (at & 255) + '/32');
    const { status } = await weirs[0].reload({ config: { ...config, route: { rule: [{ outbound: 'out', cidr }] } } });
    words.push(status);
    for (const weir of weirs) await weir.stop({ graceMs: 0 });
    server.close();
    return words.join(' ') + ' ' + weirs[0].version;
  };
}
`;

const MODULE = `import net from 'node:net';
import * as engine from 'weir-engine';
${TRIAL}
console.log(await trial(engine, net)());
`;

const COMMONJS = `${TRIAL}
trial(require('weir-engine'), require('node:net'))().then(console.log);
`;

/** Runs the trial in a worker thread. */
const THREAD = `import { Worker } from 'node:worker_threads';
new Worker(new URL('./module.mjs', import.meta.url)).on('error', (error) => { throw error; });
`;

let folder: Awaited<ReturnType<typeof scratch>>;
let bill: ReturnType<typeof parseBill>;
let obstacle: string | undefined;
/** The binary of the oldest Node, or why there is none. */
let oldest: Promise<{ readonly path: string } | { readonly obstacle: string }>;
const at = (path: string): string => join(folder.path, path);
const home = (): string => at('node_modules/weir-engine');

before(async () => {
  folder = await scratch();
  const cli = npmCli();
  if (cli === undefined) {
    obstacle = 'there is no npm in the PATH';
    return;
  }
  oldest = installNode(OLDEST, at('oldest')).then(
    (path) => ({ path }),
    (error: unknown) => ({
      obstacle: `npm gets no Node ${OLDEST}: ${String(error).slice(0, 200)}`,
    }),
  );
  await writeFile(at('package.json'), '{ "private": true }');
  await writeFile(at('module.mjs'), MODULE);
  await writeFile(at('commonjs.cjs'), COMMONJS);
  await writeFile(at('thread.mjs'), THREAD);
  await mkdir(at('files'));
  await using forms = await builtForms();
  bill = parseBill(await readFile(join(forms.path, `${ENGINE}.cdx.json`), 'utf8'));
  const koffi = join(ROOT, `node_modules/@koromix/koffi-${process.platform}-${process.arch}`);
  const options = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { code, stdout, stderr } = await finish(
    {
      command: process.execPath,
      env: { PATH: join(process.execPath, '..'), HOME: at('files') },
      folder: at('files'),
    },
    [cli, 'install', `--prefix=${folder.path}`, ...options, join(forms.path, ENGINE), koffi],
  );
  assert.equal(code, 0, stdout + stderr);
});

after(async () => {
  await oldest;
  await folder[Symbol.asyncDispose]();
});

async function bytesBelow(path: string): Promise<number> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (file) => (await lstat(join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

describe('the package for hosts', () => {
  const trial = (name: string, work: (t: TestContext) => Promise<void>): void =>
    void test(name, async (t) => {
      if (obstacle === undefined) await work(t);
      else t.skip(obstacle);
    });
  const serves = async (node: string, program: string, io: 'kernel' | 'node'): Promise<void> => {
    const place = {
      command: node,
      env: io === 'node' ? { WEIR_IO: 'node' } : {},
      folder: at('files'),
    };
    const { code, stdout, stderr } = await finish(place, [at(program)]);
    assert.deepEqual([code, stdout], [0, `hello hello applied ${OWN.version}\n`], stderr);
  };

  trial('takes at most 15 MB, and brings neither Node nor the command', async () => {
    const bytes = await bytesBelow(at('node_modules'));
    assert.ok(bytes <= MAX_INSTALLED_BYTES, `${bytes} bytes`);
    const packages = (await readdir(at('node_modules'))).filter((name) => !name.startsWith('.'));
    assert.deepEqual(packages, ['@koromix', 'weir-engine']);
    const modules = (await readdir(join(home(), 'dist'))).filter((name) => name.endsWith('.js'));
    assert.ok(!modules.includes('main.js'));
    const texts = await Promise.all(
      modules.map((name) => readFile(join(home(), 'dist', name), 'utf8')),
    );
    for (const text of texts) {
      assert.doesNotMatch(text, /^\/\/ packages\/(?:watch|nodes|client|weir\/src\/cli)\//m);
    }
    const manifest = JSON.parse(await readFile(join(home(), 'package.json'), 'utf8')) as unknown;
    assert.deepEqual(manifest, engineManifest());
  });

  trial('has its guide, and a bill of materials without what it leaves out', async () => {
    const pages = ['docs/library.md', 'docs/library-reference.md'];
    for (const page of ['README.md', 'LICENSE', 'dist/THIRD-PARTY.txt', ...pages]) {
      assert.ok((await readFile(join(home(), page), 'utf8')).length > 0, page);
    }
    assert.deepEqual(deadLinksBelow(home()), []);
    assert.equal(bill.metadata.component.name, 'weir-engine');
    const names = bill.components.map(({ name }) => name);
    for (const name of names) assert.doesNotMatch(name, /^(?:node-|preact|uplot)/);
  });

  for (const node of NODES) {
    for (const [kind, program] of [
      ['a module', 'module.mjs'],
      ['CommonJS', 'commonjs.cjs'],
      ['a worker thread', 'thread.mjs'],
    ] as const) {
      for (const io of ['kernel', 'node'] as const) {
        trial(`serves from ${kind} on Node ${versionOf(node)}, by the sockets of ${io}`, () =>
          serves(node, program, io),
        );
      }
    }
  }

  trial(`serves on Node ${OLDEST}, the oldest for hosts`, async (t) => {
    const node = await oldest;
    if ('obstacle' in node) return t.skip(node.obstacle);
    assert.equal(versionOf(node.path), `v${OLDEST}`);
    await serves(node.path, 'thread.mjs', 'kernel');
    await serves(node.path, 'commonjs.cjs', 'node');
  });
});
