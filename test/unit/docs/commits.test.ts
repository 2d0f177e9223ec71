import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** Older commits have longer subjects. */
const SINCE = '2026-11-29T00:00:00Z';
const LONGEST = 72;

test('subjects of commits have at most 72 characters', (t) => {
  const { stdout, status } = spawnSync(
    'git',
    ['log', '--no-merges', `--since=${SINCE}`, '--format=%s'],
    { encoding: 'utf8', cwd: import.meta.dirname },
  );
  if (status !== 0) return t.skip('not a checkout of git');
  assert.deepEqual(
    stdout.split('\n').filter((subject) => subject.length > LONGEST),
    [],
  );
});
