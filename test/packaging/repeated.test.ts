import assert from 'node:assert/strict';
import { cp, mkdir, readFile, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { executableObstacle } from '../../packaging/executable.ts';
import { ROOT } from '../../packaging/root.ts';
import { SOURCE_COMMIT, sourceCommit } from '../../packaging/source-commit.ts';
import { hasTool, runTool } from '../../packaging/tool.ts';
import { scratch } from '../support/process/weir.ts';
import { checkBill, checkBySchema } from './bill.ts';
import { buildForms, builtForms, DEB, ENGINE, TARBALL } from './built.ts';
import { allowedLicences, checkNotices } from './licences.ts';
import { executableDifference, debMembers, digestOf, tarMembers } from './members.ts';
import { shared } from '../support/shared.ts';

/*
 * All that is published is built twice: here, and in a copy of the checkout in another folder, of another date, with
 * its files made in another order, under another umask, time zone, locale and temporary folder.
 */

const SOURCE = [
  'bin',
  'CHANGELOG.md',
  'config',
  'CONTRIBUTING.md',
  'docs',
  'examples',
  'LICENSE',
  'package-lock.json',
  'package.json',
  'packages',
  'packaging',
  'README.md',
  'SECURITY.md',
  'tools',
  'tsconfig.build.json',
  'tsconfig.json',
];

const skip = executableObstacle() ?? ((await hasTool('dpkg-deb')) ? false : 'there is no dpkg-deb');

describe('a build of all forms', { skip }, () => {
  let folder: Awaited<ReturnType<typeof scratch>>;
  let forms: Awaited<ReturnType<typeof builtForms>>;
  const first = (name = ''): string => join(forms.path, name);
  const second = (name = ''): string => join(folder.path, 'second', name);

  shared(async (use) => {
    folder = use(await scratch());
    const copy = join(folder.path, 'another place', 'weir');
    await copyCheckout(copy);
    const temporary = join(folder.path, 'temporary');
    await mkdir(temporary);
    const built = await sourceCommit();
    const commit = built && { [SOURCE_COMMIT]: `${built.commit} ${built.date}` };
    const env = {
      ...commit,
      TZ: 'Pacific/Kiritimati',
      LC_ALL: 'C',
      LANG: 'tr_TR.UTF-8',
      TMPDIR: temporary,
    };
    await buildForms(copy, { out: second(), umask: '077', env });
    forms = use(await builtForms());
  });

  test('gives the same files in another folder, byte by byte', async () => {
    const names = (await readdir(first())).toSorted();
    assert.deepEqual((await readdir(second())).toSorted(), names);
    assert.deepEqual(names, [
      'SHA256SUMS',
      'THIRD-PARTY.txt',
      'weir',
      ENGINE,
      `${ENGINE}.cdx.json`,
      TARBALL,
      `${TARBALL}.cdx.json`,
      'weir.cdx.json',
      DEB,
      `${DEB}.cdx.json`,
    ]);
    // Members first: a failure is to name what differs, not a digest of a hundred megabytes.
    const pairs = async <T>(name: string, members: (path: string) => Promise<T>): Promise<void> =>
      assert.deepEqual(await members(second(name)), await members(first(name)), name);
    await pairs(TARBALL, tarMembers);
    await pairs(ENGINE, tarMembers);
    assert.equal(await executableDifference(first('weir'), second('weir')), undefined);
    await pairs(DEB, debMembers);
    for (const name of names) await pairs(name, digestOf);
  });

  test('has sums of everything beside them', async () => {
    const sums = await readFile(first('SHA256SUMS'), 'utf8');
    const named = Array.from(sums.matchAll(/^[0-9a-f]{64} {2}(\S+)$/gm), ([, name]) => name);
    const names = (await readdir(first())).filter((name) => name !== 'SHA256SUMS');
    assert.deepEqual(new Set(named), new Set(names));
    await runTool('sha256sum', ['--strict', '--check', 'SHA256SUMS'], { cwd: first() });
  });

  test('names no folder of the machine that built it', async () => {
    const tarball = gunzipSync(await readFile(first(TARBALL)));
    const executable = await readFile(first('weir'));
    for (const place of [ROOT, first(), '/weir-package-']) {
      assert.equal(tarball.indexOf(place), -1, `the tarball has ${place}`);
      assert.equal(executable.indexOf(place), -1, `the executable has ${place}`);
    }
  });

  for (const name of [TARBALL, 'weir', DEB]) {
    test(`${name} has a bill of materials of all that is in it`, async (t) => {
      const text = await readFile(first(`${name}.cdx.json`), 'utf8');
      await checkBill(text, first(name));
      await t.test('which its schema accepts', async (within) => checkBySchema(within, text));
    });
  }

  for (const name of [TARBALL, ENGINE, 'weir', DEB]) {
    test(`${name} has the licences of all that is in it, and they allow that`, async () => {
      const bill = await readFile(first(`${name}.cdx.json`), 'utf8');
      allowedLicences(bill);
      await checkNotices(bill, await noticesOf(name));
    });
  }

  /** The notices as a user of that form finds them. */
  async function noticesOf(name: string): Promise<string> {
    if (name === 'weir') return readFile(first('THIRD-PARTY.txt'), 'utf8');
    if (name.endsWith('.tgz')) {
      const path = 'package/dist/THIRD-PARTY.txt';
      return runTool('tar', ['-xzOf', first(name), path]);
    }
    const work = join(folder.path, 'unpacked');
    await runTool('dpkg-deb', ['--extract', first(name), work]);
    const documentation = join(work, 'usr/share/doc/weir');
    const copyright = await readFile(join(documentation, 'copyright'), 'utf8');
    assert.match(copyright, /^Format: .*copyright-format\/1\.0\/$/m);
    assert.match(copyright, /\/usr\/share\/doc\/weir\/THIRD-PARTY\.txt\.gz/);
    return gunzipSync(await readFile(join(documentation, 'THIRD-PARTY.txt.gz'))).toString();
  }
});

/** The packages are linked, not copied; what the repository has gets another date and modes, from last to first. */
async function copyCheckout(to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of SOURCE.toReversed()) {
    await cp(join(ROOT, name), join(to, name), { recursive: true });
  }
  const modules = join(ROOT, 'node_modules');
  await runTool('cp', ['-al', modules, to]).catch(async () => runTool('cp', ['-a', modules, to]));
  await runTool('chmod', ['-R', 'go-rwx', ...SOURCE], { cwd: to });
  for (const name of SOURCE) await utimes(join(to, name), 1_000_000_000, 1_000_000_000);
}
