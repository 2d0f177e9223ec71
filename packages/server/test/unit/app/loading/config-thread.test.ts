import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ConfigThread, type TaskDone } from '../../../../src/app/loading/config-loader.ts';
import { FileDigests } from '../../../../src/app/loading/file-digests.ts';
import {
  type FromThread,
  type ThreadHandle,
  type ToThread,
  ValueSplitter,
} from '../../../../src/app/loading/typed-worker.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** A worker that does nothing by itself. */
class FakeWorker extends EventEmitter implements ThreadHandle {
  readonly sent: ToThread[] = [];
  held = true;
  /** How many requests cannot be sent. */
  refused = 0;
  ended = false;
  heap = 0;

  ref(): void {
    this.held = true;
  }

  unref(): void {
    this.held = false;
  }

  postMessage(message: ToThread): void {
    if (this.refused-- > 0) throw new Error('not cloneable');
    this.sent.push(message);
  }

  /** The tasks that were sent. */
  get tasks(): readonly unknown[] {
    return this.sent.flatMap((message) => (message.kind === 'ask' ? [message.parameters] : []));
  }

  get lastId(): number {
    return this.sent.at(-1)?.id ?? 0;
  }

  async terminate(): Promise<number> {
    this.ended = true;
    return 0;
  }

  doneWith(value: unknown): TaskDone {
    return { outcome: { value }, files: new FileDigests().seen, heap: this.heap };
  }

  answer(value: unknown): void {
    const first = { value: this.doneWith(value), lists: [] };
    this.emit('message', { kind: 'value', id: this.lastId, first } satisfies FromThread);
  }
}

function subject() {
  const workers: FakeWorker[] = [];
  const clock = new ManualClock();
  const thread = new ConfigThread(clock, () => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  });
  return { workers, clock, thread };
}

const routes = (path: string) => ({ kind: 'routes', path }) as const;
const load = (path: string) => ({ kind: 'load', path, bytes: undefined, serveApi: true }) as const;

describe('the configuration thread', () => {
  test('does one task after the other with one worker', async () => {
    const { workers, thread } = subject();
    const one = thread.run(load('a'));
    const two = thread.run(load('b'));
    const [worker] = workers;
    assert.equal(worker?.tasks.length, 1);
    worker.answer(1);
    await one;
    assert.equal(worker.tasks.length, 2);
    worker.answer(2);
    assert.deepEqual(await Promise.all([one, two]), [1, 2]);
    assert.equal(workers.length, 1);
  });

  test('reads routes once for all who wait, and again for who asks after it has begun', async () => {
    const { workers, thread } = subject();
    const begun = thread.run(routes('a'));
    const waiting = Array.from({ length: 60 }, () => thread.run(routes('a')));
    const [worker] = workers;
    worker?.answer(1);
    assert.equal(await begun, 1);
    worker?.answer(2);
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([2]));
    assert.deepEqual([workers.length, worker?.tasks.length], [1, 2]);
  });

  test('keeps the process alive only while it has a task, and ends after a while without', async () => {
    const { workers, clock, thread } = subject();
    const first = thread.run(load('a'));
    const [worker] = workers;
    assert.equal(worker?.held, true);
    worker.answer(1);
    await first;
    assert.equal(worker.held, false);
    clock.advance(9_999);
    assert.equal(worker.ended, false);
    clock.advance(1);
    assert.equal(worker.ended, true);
    const second = thread.run(load('a'));
    workers[1]?.answer(2);
    assert.equal(await second, 2);
  });

  test('does not keep a worker whose heap has grown', async () => {
    const { workers, thread } = subject();
    const task = thread.run(load('a'));
    const [worker] = workers;
    assert.ok(worker);
    worker.heap = 2 ** 30;
    worker.answer(1);
    await task;
    assert.equal(worker.ended, true);
  });

  for (const [what, fail, text] of [
    [
      'an error',
      (worker: FakeWorker) => worker.emit('error', new Error('out of memory')),
      /out of memory/,
    ],
    ['an exit', (worker: FakeWorker) => worker.emit('exit', 1), /a thread ended before its task/],
  ] as const) {
    test(`${what} of the worker fails its task, and the next has another worker`, async () => {
      const { workers, thread } = subject();
      const failed = assert.rejects(thread.run(load('a')), text);
      const next = thread.run(load('b'));
      const [worker] = workers;
      assert.ok(worker);
      fail(worker);
      await failed;
      worker.emit('exit', 1);
      await turn();
      assert.deepEqual(workers[1]?.tasks, [load('b')]);
      workers[1].answer(2);
      assert.equal(await next, 2);
    });
  }

  test('a task that cannot be sent fails, and the next is done', async () => {
    const { workers, thread } = subject();
    const first = thread.run(load('a'));
    const [worker] = workers;
    assert.ok(worker);
    worker.refused = 1;
    const failed = assert.rejects(thread.run(load('b')), /not cloneable/);
    const last = thread.run(load('c'));
    worker.answer(1);
    await Promise.all([first, failed]);
    worker.answer(3);
    assert.equal(await last, 3);
  });

  test('drops a queued task without callers, and rejects more than a limit', async () => {
    const { workers, thread } = subject();
    const first = thread.run(load('a'));
    const stop = new AbortController();
    const waiting = Array.from({ length: 16 }, () =>
      thread.run(load('b'), { signal: stop.signal }),
    );
    const left = Promise.all(waiting.map((task) => assert.rejects(task, /enough/)));
    await assert.rejects(thread.run(load('c')), { code: 'busy' });
    stop.abort(new Error('enough'));
    await left;
    const [worker] = workers;
    worker?.answer(1);
    await first;
    assert.equal(worker?.tasks.length, 1);
    assert.equal(worker?.held, false);
  });

  test('a stop rejects every task and ends the worker', async () => {
    const { workers, thread } = subject();
    const tasks = [thread.run(load('a')), thread.run(load('b'))];
    const rejected = tasks.map((task) => assert.rejects(task, /stopping/));
    await thread.stop(new Error('stopping'));
    await Promise.all(rejected);
    assert.equal(workers[0]?.ended, true);
    await assert.rejects(thread.run(load('c')), /stopping/);
    await turn();
    assert.equal(workers.length, 1);
  });

  test('puts a value together that comes in pieces', async () => {
    const { workers, thread } = subject();
    const items = Array.from({ length: 1000 }, (_, i) => ({ i }));
    const value = { items, short: [1, 2], same: items, bytes: new Uint8Array(3) };
    const task = thread.run(load('a'));
    const [worker] = workers;
    assert.ok(worker);
    const pieces = new ValueSplitter(structuredClone(worker.doneWith(value)));
    assert.equal(pieces.transferable().length, 1);
    const id = worker.lastId;
    worker.emit('message', structuredClone({ kind: 'value', id, first: pieces.first }));
    for (let asked = 2; worker.sent.length === asked; asked++) {
      assert.deepEqual(worker.sent.at(-1), { kind: 'more', id });
      const piece = pieces.next();
      assert.ok((piece?.items.length ?? 0) <= 256);
      worker.emit('message', structuredClone({ kind: 'piece', id, piece }));
    }
    assert.deepEqual(await task, value);
  });
});
