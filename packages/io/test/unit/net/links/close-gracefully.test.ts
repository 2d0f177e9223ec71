import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeGracefully } from '../../../../src/net/links/closing.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { REJECTED_CLIENT_MS } from '../../../../src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

test('sends the response and its end before it drops what the peer still sends', async () => {
  const [link, peer] = linkPair();
  const clock = new ManualClock();
  const closed = closeGracefully(link, clock, { response: Buffer.from('no') });
  assert.equal(String(await peer.read()), 'no');
  assert.equal(await peer.read(), undefined);
  await peer.write(Buffer.alloc(1000));
  await peer.closeWrite();
  await closed;
  assert.equal(await peer.closed, undefined);
  assert.equal(clock.timers, 0);
});

test('destroys the link of a peer that does not close, when the time is over', async () => {
  const [link, peer] = linkPair();
  const clock = new ManualClock();
  const closed = closeGracefully(link, clock);
  assert.equal(await peer.read(), undefined);
  clock.advance(REJECTED_CLIENT_MS - 1);
  await peer.write(Buffer.from('more'));
  clock.advance(1);
  await closed;
  await link.closed;
  await assert.rejects(async () => peer.write(Buffer.from('more')));
});

test('destroys the link of a peer that sends more than the limit', async () => {
  const [link, peer] = linkPair();
  const closed = closeGracefully(link, new ManualClock(), { limitBytes: 10 });
  await peer.write(Buffer.alloc(9));
  await peer.write(Buffer.alloc(1));
  await closed;
  await link.closed;
});

test('resolves for a link that has failed already', async () => {
  const [link] = linkPair();
  link.destroy(new Error('reset'));
  const clock = new ManualClock();
  await closeGracefully(link, clock, { response: Buffer.from('no') });
  assert.equal(clock.timers, 0);
});
