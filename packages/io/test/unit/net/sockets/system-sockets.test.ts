import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sockets, UdpBindOptions, UdpSocket } from '../../../../src/net/sockets/sockets.ts';
import { reachableAddress, routeQuery } from '../../../../src/net/sockets/system-sockets.ts';

const V4 = '192.0.2.1';
const V6 = '2001:db8::1';
const MIXED = [V6, V4, '192.0.2.2'];

/** Sockets of a host that lacks routes of some families, and how many are open. */
function host(without: readonly (4 | 6)[], code = 'ENETUNREACH') {
  const asked: string[] = [];
  const sockets: Pick<Sockets, 'bindUdp'> & { open: number } = {
    open: 0,
    bindUdp: ({ family, peer }: UdpBindOptions) => {
      asked.push(peer?.host ?? '');
      if (without.includes(family)) {
        return Promise.reject(Object.assign(new Error(code), { code }));
      }
      sockets.open++;
      return Promise.resolve({ close: () => void sockets.open-- } as unknown as UdpSocket);
    },
  };
  return { asked, sockets };
}

for (const [without, family, addresses, expected] of [
  [[], 'auto', MIXED, V4],
  [[], 'prefer_ipv6', MIXED, V6],
  [[], 'prefer_ipv4', [V4, V6], V4],
  [[4], 'auto', MIXED, V6],
  [[4], 'prefer_ipv4', [V4, V6], V6],
  [[6], 'auto', MIXED, V4],
  [[6], 'prefer_ipv6', MIXED, V4],
  // Without any route the preference stays, and its failure is reported.
  [[4, 6], 'auto', MIXED, V4],
  [[4, 6], 'prefer_ipv6', MIXED, V6],
] as const) {
  test(`datagrams for [${addresses.join()}] with ${family} go to ${expected} without routes for [${without.join()}]`, async () => {
    const { sockets } = host(without);
    assert.equal(await reachableAddress(addresses, family, routeQuery(sockets)), expected);
    assert.equal(sockets.open, 0);
  });
}

test('addresses of one family are not tried', async () => {
  const { asked, sockets } = host([4, 6]);
  assert.equal(await reachableAddress([V6, '2001:db8::2'], 'auto', routeQuery(sockets)), V6);
  assert.equal(await reachableAddress([V4], 'ipv4_only', routeQuery(sockets)), V4);
  assert.equal(await reachableAddress([], 'auto', routeQuery(sockets)), undefined);
  assert.deepEqual(asked, []);
});

test('a failure that says nothing about the route keeps the preference', async () => {
  const { sockets } = host([4], 'EMFILE');
  assert.equal(await reachableAddress(MIXED, 'auto', routeQuery(sockets)), V4);
});
