import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WindowStream } from '../../../../src/dashboard/server/window-stream.ts';
import type { SseStream } from '@weir/server/local-http';

/** Longer than the least time between two values. */
const TURN_MS = 300;

test('a page that does not read gets one value for all that have been in the meantime', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: unknown[] = [];
  const writer = {
    ready: true,
    closed: false,
    onReady: undefined as (() => void) | undefined,
    send: (event: string) => sent.push(JSON.parse(event.replace(/^data: /, ''))) > 0,
  };
  let value = 1;
  let views = 0;
  const topic = {
    name: 'count',
    view: () => {
      views++;
      return { value };
    },
  };
  const stream = new WindowStream(
    {
      writer: writer as unknown as SseStream,
      topics: new Map([['count', topic]]),
      onDefect: (error) => assert.fail(String(error)),
    },
    [{ id: 1, topic: 'count', parameters: null }],
  );
  assert.deepEqual(sent.splice(0), [
    { stream: stream.name },
    { n: 1, watch: 1, delta: { set: { value: 1 } } },
  ]);
  writer.ready = false;
  while (value < 100) {
    value++;
    stream.touch();
    t.mock.timers.tick(TURN_MS);
  }
  assert.deepEqual([sent, views], [[], 1]);
  writer.ready = true;
  writer.onReady?.();
  t.mock.timers.tick(TURN_MS);
  assert.deepEqual(sent, [{ n: 2, watch: 1, delta: { keys: { value: { set: 100 } } } }]);
  stream.close();
});
