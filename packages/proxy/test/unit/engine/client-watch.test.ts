import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { linkPair } from '@weir/io/links';
import { countReactions } from '../../../../../test/support/process/count-reactions.ts';
import { ClientWatch } from '../../../src/engine/dial.ts';

test('watches of one link after the other leave nothing on it but one reaction', async () => {
  const [far, link] = linkPair();
  await far.closeWrite();
  const reactions = countReactions(link.closed);
  for (let request = 0; request < 100; request++) {
    const watch = new ClientWatch(link, () => assert.fail('the client is there'));
    await settle();
    await watch.stop();
  }
  assert.equal(reactions(), 1);
  let gone = 0;
  const last = new ClientWatch(link, () => gone++);
  await settle();
  link.destroy();
  await settle();
  assert.equal(gone, 1);
  await last.stop();
});
