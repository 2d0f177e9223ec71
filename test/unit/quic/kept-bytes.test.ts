import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PeerConnectionIds } from '../../../src/quic/path/connection-ids.ts';
import { copyOf } from '../../../src/quic/streams/copy.ts';

// Sockets receive into a Buffer, which is used again, and whose own `slice` is a view of it.

test('a copy of a part of a Buffer keeps its bytes when the Buffer is used again', () => {
  const received = Buffer.from([1, 2, 3, 4]);
  const kept = copyOf(received, 1, 3);
  received.fill(0);
  assert.deepEqual(kept, Uint8Array.of(2, 3));
});

test('a connection id of the peer outlives the buffer that it arrived in', () => {
  const ids = new PeerConnectionIds(Uint8Array.of(9));
  const received = Buffer.alloc(40, 7);
  assert.equal(ids.add(1, 1, received, 0, 8, 8), undefined);
  received.fill(0);
  assert.deepEqual(ids.current, new Uint8Array(8).fill(7));
});
