import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachable } from '../../../../src/net/packets/packets.ts';

const V4 = { family: 4, dualStack: false } as const;
const V6 = { family: 6, dualStack: false } as const;
const BOTH = { family: 6, dualStack: true } as const;

test('a socket reaches addresses of its family, and of both when it is on ::', () => {
  for (const [reach, host, reached] of [
    [V4, '192.0.2.1', '192.0.2.1'],
    [V4, '::ffff:192.0.2.1', '192.0.2.1'],
    [V4, '2001:db8::1', undefined],
    [V6, '2001:db8::1', '2001:db8::1'],
    [V6, '192.0.2.1', undefined],
    [V6, '::ffff:192.0.2.1', undefined],
    [BOTH, '192.0.2.1', '192.0.2.1'],
    [BOTH, '2001:db8::1', '2001:db8::1'],
    [BOTH, 'a.example', undefined],
    [V4, 'a.example', undefined],
  ] as const) {
    assert.equal(reachable(reach, { host, port: 53 }), reached, `${reach.family} ${host}`);
  }
});

test('a datagram is sent to no port beyond 1 to 65535', () => {
  const reaches = (port: number): boolean =>
    reachable(V4, { host: '192.0.2.1', port }) !== undefined;
  assert.deepEqual([-1, 0, 1, 65_535, 65_536, Number.NaN].map(reaches), [
    false,
    false,
    true,
    true,
    false,
    false,
  ]);
});
