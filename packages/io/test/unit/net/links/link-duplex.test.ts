import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LinkDuplex } from '@weir/io/duplex';
import { linkPair } from '@weir/io/links';

const RESET = new Error('reset');

/** What a stream reads until it fails. */
async function readToFailure(duplex: LinkDuplex): Promise<string> {
  let text = '';
  await assert.rejects(async () => {
    for await (const chunk of duplex) text += String(chunk);
  }, /reset/);
  return text;
}

test('what came before a failure of the link is read before it', async () => {
  const [near, far] = linkPair();
  // As with sockets, the failure is known before everything is read.
  const duplex = new LinkDuplex(Object.assign(near, { closed: Promise.resolve(RESET) }));
  void far.write(Buffer.from('response'));
  far.resetAfterData(RESET);
  await nextTurn();
  assert.equal(await readToFailure(duplex), 'response');
});

test('a write that fails takes nothing from what is to be read', async () => {
  const [near, far] = linkPair();
  near.write = () => Promise.reject(RESET);
  const duplex = new LinkDuplex(near);
  void far.write(Buffer.from('response'));
  duplex.write('request');
  far.resetAfterData(RESET);
  assert.equal(await readToFailure(duplex), 'response');
});

test('a failure after the end of the stream is reported', async () => {
  const [near, far] = linkPair();
  const duplex = new LinkDuplex(near);
  await far.closeWrite();
  duplex.resume();
  await once(duplex, 'end');
  const failed = once(duplex, 'error');
  far.destroy(RESET);
  assert.deepEqual(await failed, [RESET]);
});
