import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { debianChangelog } from '../../../packaging/debian-changelog.ts';
import { sourceDate } from '../../../packaging/source-date.ts';

const NEWS = `# Changelog

## 2.2.0 (unreleased)

- New.

## 2.1.1 (2026-12-01)

- Old.
`;

describe('the date of a build', () => {
  test('is SOURCE_DATE_EPOCH where that is set', () => {
    assert.equal(sourceDate('1234', NEWS), 1_234_000);
  });

  test('is the day of the newest dated release elsewhere', () => {
    assert.equal(sourceDate(undefined, NEWS), Date.UTC(2026, 11, 1));
    assert.equal(sourceDate('', NEWS), Date.UTC(2026, 11, 1));
  });

  test('is that of npm before the first release, not that of the clock', () => {
    const unreleased = NEWS.replace('2026-12-01', 'unreleased');
    assert.equal(sourceDate(undefined, unreleased), Date.UTC(1985, 9, 26, 8, 15));
  });

  test('is no other number', () => {
    for (const epoch of ['-1', '1e9', 'today', '1.5']) {
      assert.throws(() => sourceDate(epoch, NEWS), RangeError);
    }
  });
});

test('an entry of the Debian changelog has the date of its release', () => {
  const changelog = debianChangelog(NEWS, 0);
  assert.deepEqual(changelog.match(/^ -- .*$/gm), [
    ' -- The Weir authors <weir@weir.invalid>  Thu, 01 Jan 1970 00:00:00 +0000',
    ' -- The Weir authors <weir@weir.invalid>  Tue, 01 Dec 2026 00:00:00 +0000',
  ]);
});
