import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { openFlow } from '../../bench/load/flow.ts';
import { MODE, startOrigin } from '../../bench/load/origin.ts';
import { portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { peakResidentBytes, residentBytes } from '../support/process/proc.ts';
import { Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';

const MB = 1 << 20;
const FLOWS = 1500;
const AT_ONCE = 50;
/** On a busy machine a release seems to have taken much processor time, and the next one waits longer. */
const PATIENCE_MS = 90_000;

test(
  'resident memory falls after the start, and again after a burst of connections',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async () => {
    const origin = await startOrigin();
    const flows: Socket[] = [];
    using stack = new DisposableStack();
    stack.defer(() => origin.close());
    stack.defer(() => closeAll(flows));
    await using weir = await Weir.start(socksIn() + freedom());
    const megabytes = (): number => residentBytes(weir.pid) / MB;
    const most = peakResidentBytes(weir.pid) / MB;
    // After the last of its steps; all before leave more.
    const started = await eventually('the release of what the start has used', () => {
      const now = megabytes();
      return now < 0.65 * most && now;
    });

    const via = {
      host: '127.0.0.1',
      port: portOf(weir.address('socks')),
      target: { host: '127.0.0.1', port: origin.port },
    };
    const openSome = async (): Promise<void> => {
      while (flows.length <= FLOWS - AT_ONCE) {
        const echoed = Promise.withResolvers<void>();
        const flow = await openFlow(via, () => echoed.resolve());
        flow.on('error', () => undefined);
        flows.push(flow);
        flow.write(Buffer.of(MODE.echo, 0x78));
        await echoed.promise;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, openSome));
    const held = megabytes();
    assert.ok(held > started + 10, `${started} MB before, ${held} MB with ${FLOWS} flows`);

    closeAll(flows);
    await eventually(
      () => `the release: ${started} MB, ${held} MB with the flows, now ${megabytes()} MB`,
      () => megabytes() < (started + held) / 2,
      PATIENCE_MS,
    );
  },
);

const closeAll = (flows: readonly Socket[]): void => {
  for (const flow of flows) flow.destroy();
};
