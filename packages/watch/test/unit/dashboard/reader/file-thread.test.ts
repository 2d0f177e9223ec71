import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConfigError } from '@weir/config';
import type { FromThread, ThreadHandle, ToThread } from '@weir/server/app/loading/typed-worker';
import { FileThread } from '../../../../src/dashboard/reader/file-thread.ts';
import { WeirError } from '@weir/base';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { freedom, socksIn } from '../../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const BUILT_IN = { path: null, pid: null };

const value = (id: number, found: unknown): FromThread => ({
  kind: 'value',
  id,
  first: { value: found, lists: [] },
});

/** A thread that answers when a test says so. */
class FakeWorker implements ThreadHandle {
  readonly sent: ToThread[] = [];
  terminated = 0;
  readonly #listeners = new Map<string, (value: never) => void>();

  on(event: string, listener: (value: never) => void): void {
    this.#listeners.set(event, listener);
  }

  emit(event: 'message' | 'error' | 'exit', value?: FromThread | Error): void {
    this.#listeners.get(event)?.(value as never);
  }

  postMessage(message: ToThread): void {
    this.sent.push(message);
  }

  ref(): void {}
  unref(): void {}

  terminate(): Promise<number> {
    this.terminated++;
    return Promise.resolve(0);
  }
}

function faked() {
  const clock = new ManualClock();
  const workers: FakeWorker[] = [];
  const memory = { trims: 0, trim: () => void memory.trims++ };
  const start = () => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  };
  return { clock, workers, memory, thread: new FileThread(clock, start, memory) };
}

describe('the thread that reads configurations', () => {
  test('answers, and its errors are those of the files', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    await writeFile(path, `${socksIn('desk')}${freedom()}`);
    using thread = new FileThread();
    const facts = await thread.ask('facts', { path, pid: null });
    assert.deepEqual(facts.inbounds, ['desk']);
    await writeFile(path, 'inbound = 1');
    await assert.rejects(thread.ask('facts', { path, pid: null }), ConfigError);
  });

  test('one that ends fails its requests, and is replaced for the next one', async () => {
    const { workers, thread } = faked();
    const lost = thread.ask('facts', BUILT_IN);
    workers[0]?.emit('error', new Error('out of memory'));
    await assert.rejects(lost, /out of memory/);
    const next = thread.ask('facts', BUILT_IN);
    const [asked] = workers[1]?.sent ?? [];
    workers[1]?.emit('message', value(asked?.id ?? 0, 'facts'));
    assert.equal(await next, 'facts');
  });

  test('a request that is given up is cancelled, and its late answer is ignored', async () => {
    const { workers, thread } = faked();
    const stop = new AbortController();
    const asked = thread.ask('facts', BUILT_IN, stop.signal);
    stop.abort(new WeirError('gone', 'the page has gone'));
    await assert.rejects(asked, /the page has gone/);
    const [worker] = workers;
    const [first, second] = worker?.sent ?? [];
    assert.deepEqual(second, { kind: 'cancel', id: first?.id });
    worker?.emit('message', value(first?.id ?? 0, 1));
  });

  test('ends when it has been idle, and is not asked for too much', async () => {
    const { clock, workers, memory, thread } = faked();
    const all = Array.from({ length: 64 }, () => thread.ask('facts', BUILT_IN));
    await assert.rejects(thread.ask('facts', BUILT_IN), /too many requests/);
    clock.advance(120_000);
    assert.equal(workers[0]?.terminated, 0);
    for (const { id } of workers[0]?.sent ?? []) {
      workers[0]?.emit('message', value(id, id));
    }
    await Promise.all(all);
    clock.advance(60_000);
    assert.equal(workers[0]?.terminated, 1);
    assert.equal(memory.trims, 0, 'while it ends');
    await nextTurn();
    assert.equal(memory.trims, 1);
  });
});
