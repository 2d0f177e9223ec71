import assert from 'node:assert/strict';
import { access, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { OWN, publishedManifest } from '../../packaging/manifest.ts';
import { deadLinksBelow } from '../support/docs/pages.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { within } from '../support/wait.ts';
import { scratch } from '../support/process/weir.ts';
import { builtForms, TARBALL } from './built.ts';
import { tryLauncher } from './launcher.ts';
import { npmCli, putOldNode } from './old-node.ts';
import { finish, start, type Installed } from './installed.ts';
import { tryOut } from './trial.ts';
import { tryPrograms } from './try-programs.ts';
import { shared } from '../support/shared.ts';

/*
 * The tarball as npm installs it, without install scripts, on a machine that has an old Node and
 * nothing else in its PATH. npm takes the packages of this platform from its cache or its registry.
 */

const NODE = `node-${process.platform}-${process.arch}`;

/** npm unpacks a hundred megabytes, and fetches them where its cache has none. */
const INSTALLATION_MS = 150_000;

let folder: Awaited<ReturnType<typeof scratch>>;
let old = '';
/** Why nothing could be installed. */
let obstacle: string | undefined;
let output = '';

const at = (path: string): string => join(folder.path, path);
const home = (): string => at(`prefix/lib/node_modules/${OWN.name}`);
const ownNode = (): string => join(home(), 'node_modules', NODE, 'bin/node');
const installed = (): Installed => ({
  command: at('prefix/bin/weir'),
  env: { PATH: at('old') },
  folder: at('files'),
});

shared(async (use) => {
  folder = use(await scratch());
  const cli = npmCli();
  if (cli === undefined) {
    obstacle = 'there is no npm in the PATH';
    return;
  }
  try {
    old = await putOldNode(at('old'), at('fetched'));
  } catch (error) {
    obstacle = `there is no old Node, and npm gets none: ${String(error).slice(0, 200)}`;
    return;
  }
  await using forms = await builtForms();
  const { code, stdout, stderr } = await finish(
    {
      command: at('old/node'),
      env: { ...npmEnvironment(), PATH: at('old') },
      folder: at('files'),
    },
    [
      cli,
      'install',
      '--global',
      `--prefix=${at('prefix')}`,
      '--ignore-scripts',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      join(forms.path, TARBALL),
    ],
    INSTALLATION_MS,
  );
  output = stdout + stderr;
  const reached = !/E(AI_AGAIN|CONNREFUSED|NOTFOUND|TIMEDOUT|CONNRESET)/.test(output);
  if (code !== 0 && !reached) obstacle = 'the registry of npm cannot be reached';
  else assert.equal(code, 0, output);
});

/** As npm of this machine is configured: its registry, its cache, its certificates. */
function npmEnvironment(): Record<string, string> {
  const kept = /^(home|npm_config_(registry|cache|userconfig)|\w*_proxy|ssl_\w+|node_extra_\w+)$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => kept.test(entry[0]) && entry[1] !== undefined,
    ),
  );
}

/** A test of the installed package. */
const installedTest = (name: string, run: (t: TestContext) => Promise<void> | void): void =>
  void test(name, async (t) => {
    if (obstacle === undefined) await run(t);
    else t.skip(obstacle);
  });

describe('the npm package', () => {
  installedTest('works where the only other program is an old Node', async (t) => {
    assert.match(old, /^v(18|20|22)\./);
    await tryOut(t, installed());
  });

  installedTest('has the programs that show and steer it', async () => tryPrograms(installed()));

  installedTest('is installed without a warning', async () => {
    // Of the machine's own settings npm may warn.
    const warnings = output
      .split('\n')
      .filter((line) => /^npm warn (?!Unknown \w+ config)/i.test(line));
    assert.deepEqual(warnings, []);
  });

  installedTest('brings Node and the binary of koffi, and no script that installs', async () => {
    const packages = await readdir(join(home(), 'node_modules'));
    assert.ok(packages.includes(NODE), packages.join());
    for (const name of packages.filter((entry) => !/^[.@]/.test(entry))) {
      const text = await readFile(join(home(), 'node_modules', name, 'package.json'), 'utf8');
      assert.doesNotMatch(text, /"(pre|post)?install":/);
    }
    assert.ok(!('dependencies' in publishedManifest()));
  });

  installedTest('has all that its pages link to', () => {
    assert.deepEqual(deadLinksBelow(home()), []);
  });

  installedTest('passes on the status of Weir', async () => {
    assert.equal((await finish(installed(), ['no-such-command'])).code, 2);
  });

  installedTest('leaves one process, on an old Node', async (t) => {
    if (process.platform !== 'linux') return t.skip('it reads /proc');
    await tryLauncher(t, installed(), ownNode());
  });

  installedTest('leaves one process, on a new Node that is not its own', async (t) => {
    if (process.platform !== 'linux') return t.skip('it reads /proc');
    const manifest = join(home(), 'node_modules', NODE, 'package.json');
    const text = await readFile(manifest, 'utf8');
    // The Node that runs this test is of the version that is packaged.
    await writeFile(manifest, text.replace(process.version.slice(1), '26.0.0'));
    try {
      const env = { PATH: join(process.execPath, '..') };
      await tryLauncher(t, { ...installed(), env }, ownNode());
    } finally {
      await writeFile(manifest, text);
    }
  });

  installedTest('without the binary of koffi stays, on an old Node, until Weir ends', async (t) => {
    if (process.platform !== 'linux') return t.skip('it reads /proc');
    await without('@koromix', async () => {
      await mkdir(at('files'), { recursive: true });
      await writeFile(at('files/socks.toml'), `${socksIn()}${freedom()}`);
      await using child = start(installed(), ['--config', at('files/socks.toml')]);
      await child.until('listening', ({ stderr }) => / listening on /.test(stderr) || undefined);
      const task = `/proc/${child.pid}/task/${child.pid}/children`;
      const [weir = ''] = (await readFile(task, 'utf8')).match(/\d+/g) ?? [];
      process.kill(Number(weir), 'SIGKILL');
      assert.deepEqual(await within(child.exited, 'the end'), { code: null, signal: 'SIGKILL' });
      assert.equal((await finish(installed(), ['no-such-command'])).code, 2);
    });
  });

  installedTest('exports the library that weir-engine is, with its types', async () => {
    const host = `import { Weir } from '${OWN.name}';
      const weir = await Weir.start({ config: { outbound: [{ tag: 'out', protocol: 'freedom' }] } });
      await weir.stop();
      console.log(weir.version);`;
    await writeFile(at('prefix/lib/host.mjs'), host);
    const place = { command: process.execPath, env: {}, folder: at('files') };
    const { code, stdout, stderr } = await finish(place, [at('prefix/lib/host.mjs')]);
    assert.deepEqual([code, stdout], [0, `${OWN.version}\n`], stderr);
    await access(join(home(), 'dist/types/weir/src/index.d.ts'));
  });

  installedTest('without its Node runs on one that is new enough', async () => {
    await without(NODE, async () => {
      const env = { PATH: join(process.execPath, '..') };
      const { code, stdout } = await finish({ ...installed(), env }, ['--version']);
      assert.deepEqual([code, stdout], [0, `weir ${OWN.version}\n`]);
    });
  });

  installedTest('without its Node says in one line what is needed', async () => {
    await without(NODE, async () => {
      const { code, stderr } = await finish(installed(), ['--version']);
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `weir: needs Node 24.22.1, 26.12.1 or newer, or the package ${NODE} beside weir-proxy ` +
          `(npm installs it as an optional one); this is ${old}\n`,
      );
    });
  });
});

/** Runs something while a package that was installed with Weir is away. */
async function without(name: string, run: () => Promise<void>): Promise<void> {
  const place = join(home(), 'node_modules', name);
  await rename(place, at('aside'));
  try {
    await run();
  } finally {
    await rm(place, { recursive: true, force: true });
    await rename(at('aside'), place);
  }
}
