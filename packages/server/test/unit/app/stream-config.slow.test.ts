import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { readStreamConfig } from '../../../src/app/stream-config.ts';
import { ConfigError } from '@weir/config';
import { CONFIG_STREAM_MS } from '@weir/io/time';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { makeNamedPipe } from '../../../../../test/support/files/named-pipe.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

/** Lets time pass until the reading is over, and returns how much that took. */
async function pass(clock: ManualClock, reading: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  reading.then(over, over);
  while (!isOver) {
    await turn();
    if (clock.timers > 0) clock.advance(10);
  }
}

const failure = (reason: string) => (error: unknown) =>
  error instanceof ConfigError && error.kind === 'io' && error.message === reason;

test('files, folders and missing ones are left to be read in the usual way', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'a');
  await writeFile(file, 'text');
  for (const path of [file, folder.path, join(folder.path, 'missing')]) {
    assert.equal(await readStreamConfig(path), undefined);
  }
});

test('a pipe is read to its end, with pauses, and its writer is waited for', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'pipe');
  makeNamedPipe(path);
  const clock = new ManualClock();
  const reading = readStreamConfig(path, clock);
  while (clock.timers === 0) await turn();
  clock.advance(10);
  const writer = openSync(path, 'w');
  writeSync(writer, 'one ');
  while (clock.timers === 0) await turn();
  clock.advance(10);
  writeSync(writer, 'two');
  closeSync(writer);
  await pass(clock, reading);
  assert.equal(Buffer.from((await reading) ?? []).toString(), 'one two');
});

test('a pipe that nothing comes from is given up in time', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'pipe');
  makeNamedPipe(path);
  const clock = new ManualClock();
  const reading = readStreamConfig(path, clock);
  const failed = assert.rejects(
    reading,
    failure(`cannot read ${path}: nothing came from the pipe within 30 s`),
  );
  await pass(clock, reading);
  await failed;
  assert.ok(clock.now() >= CONFIG_STREAM_MS);
});

test('a pipe that does not end is given up in time', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'pipe');
  makeNamedPipe(path);
  const clock = new ManualClock();
  const reading = readStreamConfig(path, clock);
  while (clock.timers === 0) await turn();
  const writer = openSync(path, 'w');
  writeSync(writer, 'a beginning');
  const failed = assert.rejects(
    reading,
    failure(`cannot read ${path}: no end came from the pipe within 30 s`),
  );
  await pass(clock, reading);
  await failed;
  closeSync(writer);
});

test('a device without an end is read up to a limit, and one without contents is empty', async () => {
  await assert.rejects(
    readStreamConfig('/dev/zero'),
    failure('cannot read /dev/zero: it is longer than 64 MiB'),
  );
  assert.deepEqual(await readStreamConfig('/dev/null'), Buffer.alloc(0));
});
