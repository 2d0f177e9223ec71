import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkWatch } from '../../../../src/net/links/link-watch.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';

test('a watch that is stopped leaves the link readable', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link);
  assert.deepEqual(await watch.stop(), { kind: 'stopped' });
  assert.deepEqual(await watch.stop(), { kind: 'stopped' });
  await peer.write(Buffer.from('one'));
  assert.equal(String(await link.read()), 'one');
});

test('by default the first chunk ends the watch and is put back', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link);
  await peer.write(Buffer.from('one'));
  await peer.write(Buffer.from('two'));
  assert.deepEqual(await watch.result, { kind: 'bytes' });
  assert.equal(String(await link.read()), 'one');
  assert.equal(String(await link.read()), 'two');
});

test('chunks up to the limit are put back in their order, short ones counted as 1024 bytes', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link, 3 * 1024);
  for (const text of ['one', 'two', 'three']) await peer.write(Buffer.from(text));
  assert.deepEqual(await watch.result, { kind: 'bytes' });
  for (const text of ['one', 'two', 'three']) assert.equal(String(await link.read()), text);
});

test('the end of the stream and a failure end the watch', async () => {
  const [ended, peer] = linkPair();
  const first = new LinkWatch(ended);
  await peer.closeWrite();
  assert.deepEqual(await first.result, { kind: 'end' });

  const [reset] = linkPair();
  const second = new LinkWatch(reset);
  const error = new Error('reset');
  reset.destroy(error);
  assert.deepEqual(await second.result, { kind: 'failure', error });
});
