import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GreetingLink } from '../../../../src/net/links/greeting-link.ts';
import { FIRST_PAYLOAD_MS } from '../../../../src/net/time/clock.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const hello = Buffer.from('hello ');

const next = async (link: ByteLink): Promise<string> =>
  String(Buffer.from((await link.read()) ?? Buffer.from('<end>')));

function start(clock?: ManualClock): { link: ByteLink; far: ByteLink; writes: number[] } {
  const [near, far] = linkPair();
  const writes: number[] = [];
  const writeOutput = near.writeOutput.bind(near);
  near.writeOutput = (chunks) => {
    writes.push(chunks.length);
    return writeOutput(chunks);
  };
  return { link: new GreetingLink(near, hello, clock), far, writes };
}

describe('a link with a greeting', () => {
  test('sends it in one write with the first payload, and once', async () => {
    const { link, far, writes } = start();
    await link.write(Buffer.from('world'));
    assert.deepEqual(writes, [2]);
    assert.equal((await next(far)) + (await next(far)), 'hello world');
    await link.write(Buffer.from('!'));
    await link.closeWrite();
    assert.equal((await next(far)) + (await next(far)), '!<end>');
  });

  test('takes what the link below holds', () => {
    const [near] = linkPair();
    const link = new GreetingLink(near, hello);
    assert.equal(link.takeAhead(), undefined);
    near.takeAhead = () => Buffer.from('held');
    assert.equal(String(link.takeAhead()), 'held');
  });

  test('sends it alone when there is no payload in time', async () => {
    const clock = new ManualClock();
    const { link, far } = start(clock);
    clock.advance(FIRST_PAYLOAD_MS - 1);
    const greeting = next(far);
    clock.advance(1);
    assert.equal(await greeting, 'hello ');
    await link.write(Buffer.from('world'));
    assert.equal(await next(far), 'world');
    assert.equal(clock.timers, 0);
  });

  test('sends it before a half-close', async () => {
    const clock = new ManualClock();
    const { link, far } = start(clock);
    await link.closeWrite();
    assert.equal((await next(far)) + (await next(far)), 'hello <end>');
    assert.equal(clock.timers, 0);
  });

  test('does not send it when it is destroyed, or its peer has closed', async () => {
    for (const end of ['link', 'far'] as const) {
      const clock = new ManualClock();
      const ends = start(clock);
      ends[end].destroy(new Error('gone'));
      await ends.link.closed;
      clock.advance(FIRST_PAYLOAD_MS);
      assert.equal(clock.timers, 0);
      await assert.rejects(async () => ends.link.write(Buffer.from('x')));
    }
  });
});
