import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PulledLink } from '../../../../src/net/links/pulled-link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const LINGER_MS = 1000;

/** A core whose peer takes bytes when the test says so. */
class ProbedLink extends PulledLink {
  readonly calls: string[] = [];
  taken = 0;
  pauseMs = 0;
  #written = 0;

  protected override get isUnfinished(): boolean {
    return this.untaken > 0;
  }

  protected override get untaken(): number {
    return this.#written - this.taken;
  }

  protected override pull(): undefined {
    return undefined;
  }

  protected override push(chunk: Uint8Array): boolean {
    this.#written += chunk.length;
    return true;
  }

  protected override finish(): void {
    this.calls.push('finish');
  }

  protected override stopReading(truncates: boolean): void {
    this.calls.push(truncates ? 'stop' : 'stop, to linger');
  }

  protected override abandon(): void {
    this.stopLinger();
    this.calls.push('abandon');
  }

  protected override mayPause(elapsed: number): boolean {
    return elapsed < this.pauseMs;
  }
}

async function lingering(clock: ManualClock): Promise<ProbedLink> {
  const link = new ProbedLink(clock, LINGER_MS);
  await link.write(new Uint8Array(10));
  await link.closeWrite();
  link.destroy();
  assert.deepEqual(link.calls, ['finish', 'stop, to linger']);
  assert.equal(await link.closed, undefined);
  return link;
}

describe('a link over a core', () => {
  test('abandons what a peer does not take within the limit', async () => {
    const clock = new ManualClock();
    const link = await lingering(clock);
    clock.advance(LINGER_MS - 1);
    assert.equal(link.calls.at(-1), 'stop, to linger');
    clock.advance(1);
    assert.equal(link.calls.at(-1), 'abandon');
    assert.equal(clock.timers, 0);
  });

  test('lingers on while the peer takes something, and ends when nothing is left', async () => {
    const clock = new ManualClock();
    const link = await lingering(clock);
    for (link.taken = 1; link.taken <= 10; link.taken++) clock.advance(LINGER_MS);
    assert.equal(link.calls.at(-1), 'stop, to linger');
    assert.equal(clock.timers, 0);
  });

  test('allows a pause, counted from the last progress', async () => {
    const clock = new ManualClock();
    const link = await lingering(clock);
    link.pauseMs = 3 * LINGER_MS;
    clock.advance(2 * LINGER_MS);
    link.taken = 5;
    clock.advance(3 * LINGER_MS);
    assert.equal(link.calls.at(-1), 'stop, to linger');
    clock.advance(LINGER_MS);
    assert.equal(link.calls.at(-1), 'abandon');
  });

  test('that is destroyed before its half-close, or with a cause, is abandoned at once', async () => {
    for (const cause of [undefined, new Error('no')]) {
      const clock = new ManualClock();
      const link = new ProbedLink(clock, LINGER_MS);
      await link.write(new Uint8Array(10));
      link.destroy(cause);
      assert.deepEqual(link.calls, ['stop', 'abandon']);
      assert.equal(await link.closed, cause);
      await assert.rejects(link.read(), cause);
      await assert.rejects(async () => link.write(new Uint8Array(1)));
      assert.equal(clock.timers, 0);
    }
  });

  test('that lingers is abandoned by a second destroy with a cause', async () => {
    const clock = new ManualClock();
    const link = await lingering(clock);
    link.destroy();
    assert.equal(link.calls.at(-1), 'stop, to linger');
    link.destroy(new Error('no'));
    assert.equal(link.calls.at(-1), 'abandon');
    assert.equal(clock.timers, 0);
  });
});
