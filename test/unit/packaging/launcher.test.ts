import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../../packaging/root.ts';

test('the launcher of a checkout names the command to run instead', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-launcher-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'bin'));
  const launcher = join(folder, 'bin/weir.cjs');
  copyFileSync(join(ROOT, 'bin/weir.cjs'), launcher);
  const { status, stderr } = spawnSync(process.execPath, [launcher], { encoding: 'utf8' });
  assert.equal(stderr, 'weir: nothing is built here: in a checkout run `npm start --` instead\n');
  assert.equal(status, 1);
});
