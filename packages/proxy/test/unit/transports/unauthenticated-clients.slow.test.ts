import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { open } from '../../../../../test/support/data/address.ts';
import {
  CarrierPair,
  grpcPair,
  TLS_PAIR,
  wsPair,
} from '../../../../../test/support/links/carriers.ts';
import { eventually } from '../../../../../test/support/wait.ts';
import {
  UnauthenticatedClients,
  type ClientPlace,
} from '../../../src/transports/unauthenticated-clients.ts';

test('a source that floods loses its own oldest clients, and those of other sources stay', () => {
  const clients = new UnauthenticatedClients(10, 8);
  const evicted: string[] = [];
  const enter = (source: string, name: string): ClientPlace =>
    clients.enter(source, { evict: () => evicted.push(name) });
  enter('192.0.2.1', 'honest');
  for (let i = 0; i < 9; i++) enter('198.51.100.1', `flood ${i}`);
  // Its share.
  assert.deepEqual(evicted, ['flood 0']);
  enter('192.0.2.2', 'another');
  enter('192.0.2.3', 'a third');
  assert.deepEqual([evicted, clients.count], [['flood 0', 'flood 1'], 10]);
  for (let i = 9; i < 100; i++) enter('198.51.100.1', `flood ${i}`);
  assert.ok(evicted.every((name) => name.startsWith('flood')));
  assert.equal(clients.count, 10);
});

test('addresses of one network of IPv6 are one source', () => {
  const clients = new UnauthenticatedClients(100, 4);
  let evicted = 0;
  for (let i = 1; i <= 10; i++) clients.enter(`2001:db8::${i}`, { evict: () => evicted++ });
  assert.deepEqual([clients.count, evicted], [4, 6]);
});

test('a process with few descriptors has few of them', () => {
  for (const [descriptors, limit, share] of [
    [1024, 256, 128],
    [300, 75, 38],
    [1_048_576, 8192, 4096],
    [Infinity, 8192, 4096],
    [0, 1, 1],
  ] as const) {
    const clients = UnauthenticatedClients.within(descriptors);
    for (let i = 0; i < 5000; i++) clients.enter('198.51.100.1', { evict: () => undefined });
    assert.equal(clients.count, share);
    for (let i = 0; i < 10_000; i++) clients.enter(`192.0.2.${i}`, { evict: () => undefined });
    assert.equal(clients.count, limit);
  }
});

test('a client that has left is not disconnected, and leaves once', () => {
  const clients = new UnauthenticatedClients(2, 2);
  const evicted: number[] = [];
  const places = [0, 1].map((i) => clients.enter(undefined, { evict: () => evicted.push(i) }));
  places[0]?.leave();
  places[0]?.leave();
  assert.equal(clients.count, 1);
  clients.enter(undefined, { evict: () => evicted.push(2) });
  clients.enter(undefined, { evict: () => evicted.push(3) });
  assert.deepEqual(evicted, [1]);
  places[1]?.leave();
  assert.equal(clients.count, 2);
});

test('whatever comes and leaves, the bounds hold, and the oldest of a largest source goes', () => {
  const [LIMIT, SHARE] = [8, 5];
  interface Live {
    readonly source: number;
    readonly place: ClientPlace;
  }
  const step = fc.oneof(
    fc.nat(3).map((source) => ({ source, leaves: 0 })),
    fc.nat(20).map((leaves) => ({ source: undefined, leaves })),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const clients = new UnauthenticatedClients(LIMIT, SHARE);
      const live: Live[] = [];
      const countOf = (source: number): number =>
        live.filter((each) => each.source === source).length;
      // As they are when a client enters: what makes another one go, not itself.
      let isFull = false;
      let most = 0;
      for (const { source, leaves } of steps) {
        if (source === undefined) {
          live.splice(leaves % Math.max(1, live.length), 1)[0]?.place.leave();
        } else {
          isFull = live.length === LIMIT;
          most = Math.max(0, ...live.map((each) => countOf(each.source)));
          const place = clients.enter(`192.0.2.${source}`, {
            evict: () => {
              const at = live.findIndex((each) => each.place === place);
              const gone = live[at]?.source ?? -1;
              assert.equal(
                at,
                live.findIndex((each) => each.source === gone),
              );
              assert.ok(countOf(gone) === SHARE || (isFull && countOf(gone) === most));
              live.splice(at, 1);
            },
          });
          live.push({ source, place });
        }
        assert.equal(clients.count, live.length);
        assert.ok(live.length <= LIMIT && live.every((each) => countOf(each.source) <= SHARE));
      }
    }),
  );
});

for (const [what, pair] of [
  ['TLS', TLS_PAIR],
  ['WebSockets', wsPair(false)],
  ['gRPC', grpcPair(false)],
] as const) {
  test(`a connection that fails below ${what} is counted until then`, async () => {
    await using carriers = await CarrierPair.open(pair);
    const { unauthenticated } = carriers;
    const silent = await open({ host: '127.0.0.1', port: carriers.port });
    await eventually('the connection counts', () => unauthenticated.count === 1);
    silent.on('error', () => undefined).resume();
    silent.write('GET /nothing HTTP/1.1\r\n\r\n');
    await eventually('it does not any more', () => unauthenticated.count === 0);
    silent.destroy();
  });
}
