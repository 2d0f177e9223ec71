import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tarArchive } from '../../../packages/watch/src/diagnose/collect-diagnosis.ts';
import { executableDifference, tarMembers } from '../../packaging/members.ts';
import { scratch } from '../../support/process/weir.ts';

/* A comparison of two builds that cannot fail would show nothing. */

describe('the comparison of two builds', () => {
  test('names the file of a tarball that differs, in content, mode or date', async () => {
    await using folder = await scratch();
    const members = async (text: string, mode: number, at: number): Promise<string[]> => {
      const path = join(folder.path, 'a.tgz');
      const files = ['same', 'other'].map((name) => ({
        path: name,
        bytes: Buffer.from(name === 'other' ? text : 'x'.repeat(600)),
        mode: name === 'other' ? mode : 0o644,
      }));
      await writeFile(path, gzipSync(tarArchive(files, at)));
      return tarMembers(path);
    };
    const [same = '', other = ''] = await members('text', 0o644, 0);
    assert.match(same, /^same /);
    assert.match(other, /^other /);
    for (const changed of [await members('texx', 0o644, 0), await members('text', 0o755, 0)]) {
      assert.equal(changed[0], same);
      assert.notEqual(changed[1], other);
    }
    assert.notDeepEqual(await members('text', 0o644, 1000), [same, other]);
  });

  test('names the part of an executable that differs', async () => {
    await using folder = await scratch();
    const [a, b] = [join(folder.path, 'a'), join(folder.path, 'b')];
    const start = `${'\0'.repeat(200_000)}chunk-AB.js\0`;
    await writeFile(a, `${start}one`);
    await writeFile(b, `${start}one`);
    assert.equal(await executableDifference(a, b), undefined);
    await writeFile(b, `${start}two`);
    assert.match((await executableDifference(a, b)) ?? '', /^byte 200012, after .*chunk-AB\.js/);
    await writeFile(b, `${start}one and more`);
    assert.match((await executableDifference(a, b)) ?? '', /^byte 200015, /);
  });
});
