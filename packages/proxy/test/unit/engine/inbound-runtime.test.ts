import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InboundRuntime } from '../../../src/engine/inbound-runtime.ts';
import { silentLogger } from '@weir/base/log';
import { linkPair } from '@weir/io/links';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { InboundMemory } from '../../../src/protocols/inbounds/inbound-memory.ts';
import { Tracker } from '../../../src/tracker/tracker.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

for (const outcome of ['ends', 'fails', 'throws'] as const) {
  test(`a carrier whose session ${outcome} reports that it is over, and when it authenticates, once each`, async () => {
    const reports: string[] = [];
    const handler = {
      serve: (_carrier: unknown, session: { authenticated?(): void }): Promise<void> => {
        session.authenticated?.();
        session.authenticated?.();
        if (outcome === 'throws') throw new Error('invalid');
        return outcome === 'ends' ? Promise.resolve() : Promise.reject(new Error('invalid'));
      },
    };
    const tracker = new Tracker(new ManualClock());
    const runtime = new InboundRuntime(
      'in',
      new InboundMemory(),
      handler,
      tracker,
      new OwnListeners(),
      silentLogger,
    );
    const [link] = linkPair();
    runtime.accept({
      link,
      wire: { bytesRead: 0, bytesWritten: 0 },
      remote: undefined,
      local: undefined,
      onAuthenticated: () => reports.push('authenticated'),
      onOver: () => reports.push('over'),
    });
    await runtime.whenIdle();
    assert.deepEqual(reports, ['authenticated', 'over']);
    assert.equal(tracker.sessions().length, 0);
  });
}
