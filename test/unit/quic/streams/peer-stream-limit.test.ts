import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STREAMS_AHEAD } from '../../../../src/quic/streams/limits.ts';
import { SentFrames } from '../../../../src/quic/recovery/sent-frames.ts';
import { PeerStreamLimit } from '../../../../src/quic/streams/peer-stream-limit.ts';

const log = new SentFrames();

test('RFC 9000 §4.6: every stream that closes makes room for another', () => {
  const limit = new PeerStreamLimit(4);
  for (let i = 0; i < 4; i++) assert.equal(limit.open(), i);
  assert.equal(limit.isUpdateDue, false);
  limit.close();
  assert.equal(limit.isUpdateDue, true);
  assert.equal(limit.announce(log), 5);
  assert.equal(limit.isUpdateDue, false);
});

test('a peer that may have more streams gets them step by step, as it opens them', () => {
  const MOST = 65_536;
  const limit = new PeerStreamLimit(100);
  limit.allow(MOST);
  let updates = 0;
  while (limit.opened < limit.announced || limit.isUpdateDue) {
    if (limit.isUpdateDue) {
      const granted = limit.announce(log);
      assert.ok(granted <= limit.opened + STREAMS_AHEAD, `${granted} at ${limit.opened}`);
      updates++;
    }
    if (limit.opened < limit.announced) limit.open();
  }
  assert.equal(limit.opened, MOST);
  assert.ok(updates <= (4 * MOST) / STREAMS_AHEAD + 1, `${updates} updates`);
});

test('RFC 9000 §4.6: a limit that falls takes nothing back', () => {
  const limit = new PeerStreamLimit(10);
  limit.allow(2);
  assert.equal(limit.announced, 10);
  for (let i = 0; i < 10; i++) limit.open();
  for (let i = 0; i < 8; i++) limit.close();
  assert.equal(limit.isUpdateDue, false);
  limit.close();
  assert.equal(limit.next, 11);
});

test('RFC 9000 §13.3: a lost limit is repeated unless there is a newer one', () => {
  const limit = new PeerStreamLimit(2);
  limit.open();
  limit.close();
  const lost = limit.announce(log);
  limit.onLost(lost);
  assert.equal(limit.isUpdateDue, true);
  assert.equal(limit.announce(log), lost);
  limit.open();
  limit.close();
  limit.announce(log);
  limit.onLost(lost);
  assert.equal(limit.isUpdateDue, false);
});
