import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { tarArchive } from '../../../src/diagnose/collect-diagnosis.ts';
import { filesOf } from '../../../../../test/support/diagnose/untar.ts';

const AT = Date.UTC(2026, 10, 24, 4, 5, 6);

test('an archive has the files that went into it, for tar(1) too', () => {
  const files = [0, 1, 511, 512, 513, 5000].map((length) => ({
    path: `folder/${length}.txt`,
    bytes: Buffer.alloc(length, 'x'),
  }));
  const archive = tarArchive(files, AT);
  assert.equal(archive.length % 512, 0);
  const unpacked = filesOf(archive);
  assert.deepEqual(
    [...unpacked].map(([path, bytes]) => [path, bytes.length]),
    files.map(({ path, bytes }) => [path, bytes.length]),
  );
  const listed = spawnSync('tar', ['--list', '--verbose', '--utc', '--file', '-'], {
    input: archive,
    encoding: 'utf8',
  });
  assert.deepEqual([listed.status, listed.stderr], [0, '']);
  assert.match(listed.stdout, /^-rw------- 0\/0 +5000 2026-11-24 04:05 folder\/5000\.txt$/m);
});

test('a name that the format cannot have is refused', () => {
  for (const path of ['', 'a b', 'ä', 'x'.repeat(101)]) {
    assert.throws(() => tarArchive([{ path, bytes: Buffer.alloc(0) }], AT), RangeError);
  }
});
