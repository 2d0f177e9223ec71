import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NodeProbes } from '../../../../src/dashboard/nodes/node-probes.ts';
import { FlowError, type OutboundFlows } from '../../../../../nodes/src/fetch/contract.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const URL_ASKED = new URL('http://host.example/path?token=s3cret');

const spec = (tag: string) => ({ tag, protocol: 'socks', stream: undefined });

/** Probes whose flows fail, or wait until they are given up. */
function probing(fails: boolean) {
  let opened = 0;
  let closed = 0;
  let waiting = 0;
  const changes = Promise.withResolvers<void>();
  const flows: OutboundFlows = {
    open: (_tag, _target, signal) => {
      if (fails) return Promise.reject(new FlowError('connection refused', { resolved: 1 }));
      waiting++;
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new FlowError('given up', {})));
      });
    },
    [Symbol.asyncDispose]: () => {
      closed++;
      return Promise.resolve();
    },
  };
  const probes: NodeProbes = new NodeProbes(
    () => {
      opened++;
      return flows;
    },
    () => 1000,
    new ManualClock(),
  );
  probes.onChange(() => {
    if (!probes.progress.isRunning) changes.resolve();
  });
  return {
    probes,
    ended: changes.promise,
    counts: () => ({ opened, closed, waiting }),
  };
}

describe('probes of nodes', () => {
  test('a failed one has its cause, and the URL without what may be secret', async () => {
    const { probes, ended, counts } = probing(true);
    probes.start({ specs: [spec('tokyo')], url: URL_ASKED, tries: 2 });
    assert.equal(probes.of('tokyo')?.state, 'running');
    await ended;
    const { state, tries, succeeded, error, url, at } = probes.of('tokyo') ?? {};
    assert.deepEqual([state, tries, succeeded, at], ['done', 2, 0, 1000]);
    assert.equal(error, 'dial: connection refused');
    assert.equal(url, 'http://host.example/path');
    assert.deepEqual(probes.progress, { total: 1, done: 1, isRunning: false });
    assert.deepEqual(counts(), { opened: 1, closed: 1, waiting: 0 });
  });

  test('eight at a time, one run at a time, and a run can be cancelled', async () => {
    const { probes, ended, counts } = probing(false);
    const specs = Array.from({ length: 20 }, (_, index) => spec(`n${index}`));
    probes.start({ specs, url: URL_ASKED, tries: 1 });
    assert.throws(() => probes.start({ specs, url: URL_ASKED, tries: 1 }), /under way/);
    assert.deepEqual([probes.of('n7')?.state, probes.of('n8')?.state], ['running', 'waiting']);
    assert.equal(counts().waiting, 8);
    probes.cancel();
    await ended;
    assert.deepEqual(
      new Set(specs.map(({ tag }) => probes.of(tag)?.state)),
      new Set(['cancelled']),
    );
    assert.equal(counts().waiting, 8);
    probes.start({ specs: [spec('n0')], url: URL_ASKED, tries: 1 });
    probes.cancel();
  });
});
