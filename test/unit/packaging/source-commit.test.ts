import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sourceCommit } from '../../../packaging/source-commit.ts';
import { scratch } from '../../support/process/weir.ts';

const skip = spawnSync('git', ['--version']).status === 0 ? false : 'there is no git';

test(
  'a build has the commit of its repository and the day of that, and says when files were changed',
  { skip },
  async () => {
    await using folder = await scratch();
    const git = (...args: readonly string[]): string => {
      const env = {
        ...process.env,
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_SYSTEM: '/dev/null',
      };
      const date = '2026-01-02T23:30:00+00:00';
      const { status, stdout, stderr } = spawnSync('git', ['-C', folder.path, ...args], {
        encoding: 'utf8',
        env: { ...env, GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date },
      });
      assert.equal(status, 0, stderr);
      return stdout.trim();
    };
    assert.equal(await sourceCommit('', folder.path), undefined);
    git('init', '-q');
    await writeFile(join(folder.path, 'file'), 'one');
    git('add', 'file');
    git('-c', 'user.name=a', '-c', 'user.email=a@a.example', 'commit', '-q', '-m', 'one');
    const commit = git('rev-parse', 'HEAD').slice(0, 12);
    assert.deepEqual(await sourceCommit('', folder.path), { commit, date: '2026-01-02' });
    await writeFile(join(folder.path, 'file'), 'two');
    assert.deepEqual(await sourceCommit('', folder.path), {
      commit: `${commit}+`,
      date: '2026-01-02',
    });
    const given = await sourceCommit(`${commit} 2026-03-04`, folder.path);
    assert.deepEqual(given, { commit, date: '2026-03-04' });
    await assert.rejects(sourceCommit('main', folder.path), RangeError);
  },
);
