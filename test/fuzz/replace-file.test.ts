import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../support/process/child.ts';

const WRITER = join(import.meta.dirname, '../support/process/killed-writer.ts');
const KILLS = 50;
const LINES = 10_000;

/** All lines of a file that the writer wrote are the same, and all of them are there. */
function assertWhole(text: string): void {
  const [first = ''] = text.split('\n', 1);
  assert.equal(text.length, (first.length + 1) * LINES);
  assert.equal(text, `${first}\n`.repeat(LINES));
}

test(`${KILLS} writers killed at any time leave a whole file, and readers see no other`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-replace-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'weir.toml');
  await writeFile(file, 'old\n'.repeat(LINES));
  const seen = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await using child = new Child(process.execPath, [WRITER, file]);
    await child.until('its start', ({ stdout }) => stdout.includes('started') || undefined);
    const end = performance.now() + randomInt(60);
    while (performance.now() < end) {
      assertWhole(await readFile(file, 'utf8'));
      await sleep(randomInt(3));
    }
    child.signal('SIGKILL');
    await child.exited;
    const text = await readFile(file, 'utf8');
    assertWhole(text);
    seen.add(text.slice(0, 12));
  }
  t.diagnostic(`${seen.size} different files were left`);
});
