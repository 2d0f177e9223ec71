import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { OWN } from '../../../../packaging/manifest.ts';
import { makeGeoFiles } from '../../../../test/support/config/support.ts';
import {
  digestOf,
  filesOf,
  isConfiguration,
  readTable,
  releases,
  warningsOf,
} from '../../../../test/support/corpus/corpus.ts';

/* A file that is valid stays valid within the major version: those of every release are checked. */

const folder = makeGeoFiles();
after(() => rmSync(folder, { recursive: true }));

const major = (version: string): string => version.split('.')[0] ?? '';
const current = releases().filter((release) => major(release) === major(OWN.version));

test('there are configurations of this major version', () => {
  assert.ok(current.flatMap(filesOf).length > 0);
});

test('the configurations of a release are never edited, added or removed', () => {
  const digests = releases()
    .flatMap(filesOf)
    .map((path) => [path, digestOf(path)]);
  assert.deepEqual(Object.fromEntries(digests), readTable<string>('digests.json'));
});

describe('a configuration of a release is accepted, with the warnings that are noted', () => {
  const noted = readTable<readonly string[]>('warnings.json');
  for (const path of current.flatMap(filesOf).filter(isConfiguration)) {
    test(path, async () => {
      assert.deepEqual(await warningsOf(path, folder), noted[path]);
    });
  }
});
