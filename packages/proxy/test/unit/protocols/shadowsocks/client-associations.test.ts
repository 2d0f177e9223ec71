import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssociationTable } from '../../../../src/protocols/shadowsocks/client-associations.ts';
import type { DatagramCodec } from '../../../../src/protocols/shadowsocks/packets.ts';
import type { KeyedUser } from '../../../../src/protocols/shadowsocks/shadowsocks-users.ts';
import { FakeEngine } from '../../../../../../test/support/protocols/inbounds/engine.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { inboundContext } from '../../../../../../test/support/protocols/inbound-context.ts';
import {
  codec,
  FakeSessions,
  listening,
  text,
} from '../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  clientAt,
  keyFor,
  SITE,
} from '../../../../../../test/support/protocols/shadowsocks/harness.ts';

test('a user that opens more and more associations closes its own, not those of others', async () => {
  const method = '2022-blake3-aes-128-gcm';
  // So many that an equal share would be less than 256.
  const users = Array.from({ length: 40 }, (_, i) => ({
    key: keyFor(method, i + 10),
    email: `${i}`,
  }));
  const { receive, sessions, dispatcher, clock } = listening(method, { users });
  const session = (i: number, seed: string): DatagramCodec => {
    const { key } = users[i]!; // tests ask for existing ones
    return codec(method, [keyFor(method, 1), key], { seed, clock });
  };
  const hello = (of: DatagramCodec) => of.encode({ data: text('x'), peer: SITE });
  const quiet = session(0, 'quiet');
  assert.ok(receive(hello(quiet)));
  const first = session(1, 'greedy 0');
  const second = session(1, 'greedy 1');
  for (const each of [first, second]) {
    clock.advance(1);
    assert.ok(receive(hello(each)));
  }
  clock.advance(1);
  assert.ok(receive(hello(first)));
  for (let i = 2; i < 600; i++) {
    clock.advance(1);
    assert.ok(receive(hello(session(1, `greedy ${i}`))));
    // An association that is active is closed last.
    if (i % 100 === 0) assert.ok(receive(hello(first), clientAt, true));
  }
  await settle();
  assert.equal(sessions.live.size, 1 + 256);
  assert.ok(receive(hello(quiet), clientAt, true));
  assert.ok(!receive(hello(second), clientAt, true));
  assert.equal(dispatcher.associations.length, 1 + 600);
});

function tableOf(users: number, limit: number) {
  const sessions = new FakeSessions();
  const credentialOf = () => '';
  const context = inboundContext('ss', {
    dispatcher: new FakeEngine('echo'),
    clock: new ManualClock(),
  });
  return {
    sessions,
    associations: new AssociationTable<undefined>(
      { context, credentialOf },
      sessions,
      users,
      limit,
    ),
  };
}
const userOf = (index: number): KeyedUser => ({ index, key: Buffer.alloc(16), label: undefined });

test('few users have an equal share of the associations each', async () => {
  const { associations, sessions } = tableOf(2, 1024);
  const sealer = { seal: () => undefined, [Symbol.dispose]: () => undefined };
  associations.open('quiet', userOf(0), clientAt, sealer, undefined);
  const greedy = userOf(1);
  for (let i = 0; i < 1100; i++) associations.open(`${i}`, greedy, clientAt, sealer, undefined);
  await settle();
  assert.equal(sessions.live.size, 1 + 512);
  assert.ok(associations.find('quiet'));
});

test('beyond the bound the least recently used association is closed', async () => {
  const { associations, sessions } = tableOf(1, 2);
  const user = userOf(0);
  let disposed = 0;
  const sealer = { seal: () => undefined, [Symbol.dispose]: () => void disposed++ };
  const [a, b, c] = ['a', 'b', 'c'] as const;
  associations.open(a, user, clientAt, sealer, undefined);
  associations.open(b, user, clientAt, sealer, undefined);
  assert.ok(associations.find(a));
  associations.open(c, user, clientAt, sealer, undefined);
  await settle();
  assert.deepEqual(
    [a, b, c].map((key) => associations.find(key) !== undefined),
    [true, false, true],
  );
  assert.deepEqual([sessions.live.size, disposed], [2, 1]);
});
