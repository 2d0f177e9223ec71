import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { OwnMemory, residentBytes } from '../../../../src/platform/process/memory.ts';

const MODULE = new URL('../../../../src/platform/process/memory.ts', import.meta.url).href;

/**
 * Runs in a process of its own, whose heap and `malloc` nothing else uses; prints resident memory in MB.
 * Every hundredth of the chunks stays, as do connections that are open: without a trim, `malloc`
 * returns only what is above the last of them.
 */
const PROGRAM = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { OwnMemory } from ${JSON.stringify(MODULE)};
  const memory = new OwnMemory();
  const resident = () => memory.residentBytes() / (1 << 20);
  const before = resident();
  const unfreed = memory.freeBytes();
  let all = Array.from({ length: 20_000 }, (_, i) => ({ bytes: new Uint8Array(8000).fill(1), i }));
  let kept = all.filter(({ i }) => i % 100 === 0);
  const most = resident();
  all = undefined;
  for (let i = 0; i < 100 && resident() > before + 40; i++) {
    memory.startCollection();
    await sleep(100);
    memory.endCollection();
    memory.trim();
  }
  const released = resident();
  const freed = (memory.freeBytes() - unfreed) / (1 << 20);
  for (const part of ['text', 'all', 'all']) memory.forgetProgram(part);
  const forgotten = resident();
  let sum = 0;
  for (const { bytes } of kept) sum += bytes[bytes.length - 1];
  console.log(JSON.stringify({ before, most, released, freed, forgotten, sum }));
`;

interface Printed {
  readonly before: number;
  readonly most: number;
  readonly released: number;
  readonly freed: number;
  readonly forgotten: number;
  readonly sum: number;
}

test(
  'a collection and a trim return what connections have used, while others stay',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const args = ['--input-type=module', '--eval', PROGRAM];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stdout, /^\{/, stderr);
    const { before, most, released, freed, forgotten, sum } = JSON.parse(stdout) as Printed;
    assert.ok(most > before + 120, `grown to ${most} MB`);
    assert.ok(released <= before + 40, `${before} MB, ${released} MB afterwards`);
    assert.ok(freed > 120, `${freed} MB freed`);
    assert.ok(forgotten <= released, `${forgotten} of ${released} MB`);
    assert.equal(sum, 200);
  },
);

test('resident memory that cannot be read is what it was last', (t) => {
  const before = residentBytes();
  assert.ok(before > 0);
  // As libuv does for a process that may open no more files.
  t.mock.method(process.memoryUsage, 'rss', () => {
    throw Object.assign(new Error('uv_resident_set_memory'), { code: 'EMFILE' });
  });
  assert.equal(residentBytes(), before);
  assert.equal(new OwnMemory().residentBytes(), before);
});
