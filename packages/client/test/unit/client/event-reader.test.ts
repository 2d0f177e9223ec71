import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from '../../../src/client/event-reader.ts';

const STREAM =
  ': still here\n\nevent: opened\ndata: {"id":1}\n\nretry: 1\n\nevent: closed\n\n' +
  'event: closed\ndata: {"id":"data: 2"}\n\nevent: opened\ndata: {';

const EVENTS = [
  { event: 'opened', data: '{"id":1}' },
  { event: 'closed', data: '{"id":"data: 2"}' },
];

test('events are found whatever pieces they come in', () => {
  for (let size = 1; size <= STREAM.length; size++) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) {
      found.push(...reader.push(STREAM.slice(at, at + size)));
    }
    assert.deepEqual(found, EVENTS, `pieces of ${size}`);
  }
});

test('an event is found as soon as its empty line is there', () => {
  const reader = new EventReader();
  assert.deepEqual(reader.push('event: a\ndata: b\n'), []);
  assert.deepEqual(reader.push('\n'), [{ event: 'a', data: 'b' }]);
});
