import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { noKernelSockets } from '../../../../../../test/support/links/kernel-io.ts';

/** A network namespace of its own, whose loopback takes 1,400 bytes. */
const inNamespace = (command: readonly string[]) =>
  spawnSync(
    'unshare',
    ['-rn', 'sh', '-c', 'ip link set lo mtu 1400 up && exec "$@"', 'sh', ...command],
    { encoding: 'utf8', timeout: 30_000 },
  );

const noNamespaces =
  inNamespace(['true']).status === 0 ? noKernelSockets : 'no network namespaces here';

test('a path MTU is found by what the socket reports', { skip: noNamespaces }, () => {
  const script = new URL('../../../../../../test/support/links/send-beyond-mtu.ts', import.meta.url)
    .pathname;
  const { stdout, stderr } = inNamespace([process.execPath, script]);
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), [
    {
      dontFragment: true,
      result: { done: 8, sentBytes: 0, full: false, tooLarge: 2, firstTooLarge: 2 },
      dropped: 11,
      segmentation: true,
      // Ten, one, one beyond the MTU, a small one, ten beyond it, three that are joined.
      sizes: [...Array<number>(11).fill(1372), 100, 1372, 1372, 5],
    },
    {
      dontFragment: false,
      result: { done: 8, sentBytes: 0, full: false, tooLarge: 0, firstTooLarge: -1 },
      dropped: 0,
      sizes: [
        ...Array<number>(11).fill(1372),
        1373,
        100,
        ...Array<number>(10).fill(1382),
        1372,
        1372,
        5,
      ],
    },
  ]);
});
