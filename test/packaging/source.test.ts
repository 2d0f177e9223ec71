import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { pinnedNode, type NodePlatform } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { scratch } from '../support/process/weir.ts';
import { finish } from './installed.ts';
import { putOldNode } from './old-node.ts';
import { shared } from '../support/shared.ts';

/*
 * The Node that `npm ci` gives to the scripts of a checkout. The script that links it is run by an old Node, as on a machine
 * that has no other one.
 */

const PINNED = pinnedNode(`${process.platform}-${process.arch}` as NodePlatform);
const LINK = 'node_modules/.bin/node';

let folder: Awaited<ReturnType<typeof scratch>>;
/** What runs the script: this Node where there is no old one. */
let runner = process.execPath;

shared(async (use) => {
  folder = use(await scratch());
  const found = await putOldNode(folder.path, join(folder.path, 'fetched')).then(
    () => true,
    () => false,
  );
  if (found) runner = join(folder.path, 'node');
});
/** A checkout as npm before 11 leaves it, with a package that has this binary of Node. */
async function checkout(t: TestContext, bring: (binary: string) => Promise<void>) {
  const { path, [Symbol.asyncDispose]: dispose } = await scratch();
  t.after(dispose);
  const modules = join(path, 'node_modules', PINNED.name);
  await mkdir(join(path, 'node_modules/.bin'), { recursive: true });
  await mkdir(join(modules, 'bin'), { recursive: true });
  await mkdir(join(path, 'packaging'));
  await cp(join(ROOT, 'package.json'), join(path, 'package.json'));
  await cp(join(ROOT, 'packaging/link-node.cjs'), join(path, 'packaging/link-node.cjs'));
  await writeFile(join(modules, 'package.json'), JSON.stringify({ bin: { node: 'bin/node' } }));
  await bring(join(modules, 'bin/node'));
  const linked = async (): Promise<string | undefined> =>
    readlink(join(path, LINK)).catch(() => undefined);
  const script = join(path, 'packaging/link-node.cjs');
  const run = () => finish({ command: runner, env: {}, folder: path }, [script]);
  return { path, linked, run };
}

describe('a checkout', () => {
  test('runs its scripts on the Node that is pinned for this platform', () => {
    const version = execFileSync(join(ROOT, LINK), ['--version'], { encoding: 'utf8' });
    assert.equal(version, `v${PINNED.version}\n`);
  });

  test('gets the link to that Node from a script, whichever npm installed it', async (t) => {
    const { linked, run } = await checkout(t, (binary) => symlink(process.execPath, binary));
    for (const time of ['first', 'second']) {
      const { code, stderr } = await run();
      assert.deepEqual([code, stderr], [0, ''], time);
      assert.equal(await linked(), `../${PINNED.name}/bin/node`, time);
    }
  });

  test('gets no link to a Node that cannot be run, and says so', async (t) => {
    const { path, linked, run } = await checkout(t, (binary) => writeFile(binary, 'no program'));
    // npm 11 makes it.
    await symlink(`../${PINNED.name}/bin/node`, join(path, LINK));
    const { code, stderr } = await run();
    assert.equal(code, 0);
    assert.match(stderr, /^weir: the pinned Node cannot be run here: .*EACCES; npm scripts run on/);
    assert.equal(await linked(), undefined);
  });

  test('gets no link where no Node is pinned for the platform, and says so', async (t) => {
    const { path, linked, run } = await checkout(t, () => Promise.resolve());
    await writeFile(join(path, 'package.json'), '{ "optionalDependencies": { "other": "1" } }');
    const { code, stderr } = await run();
    assert.equal(code, 0);
    assert.match(stderr, /^weir: no Node is pinned for this platform; npm scripts run on/);
    assert.equal(await linked(), undefined);
  });
});
