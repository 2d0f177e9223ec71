import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pair } from '../../../../../test/support/quic/pair.ts';

const TEN_MINUTES = 600_000;
const PATIENT = { idleTimeout: 0, keepAlive: 20_000 };

/** A pair over a path that takes datagrams of so many bytes, which has been searched. */
function searched(path: number, most = 1472): Pair & { limit: number } {
  const settings = { ...PATIENT, maxDatagram: most };
  const pair = Object.assign(
    new Pair({ delay: 10, watch: 'opened', client: settings, server: settings }),
    { limit: path },
  );
  pair.passes = ({ data }) => data.length <= pair.limit;
  pair.connect();
  pair.advance(30_000);
  return pair;
}

const sizeOf = (pair: Pair): number => pair.client.connection.statistics().datagramSize;

const probes = (pair: Pair): number[] =>
  pair.tap.packets.filter((p) => p.from === 'client' && p.isMtuProbe).map(({ bytes }) => bytes);

for (const { name, path, most, found } of [
  { name: 'Ethernet', path: 1472, most: 1472, found: 1472 },
  { name: 'a path of jumbo frames', path: 8972, most: 8972, found: 8972 },
  { name: 'Ethernet, from a host with jumbo frames', path: 1472, most: 8972, found: 1472 },
  { name: 'PPPoE over IPv4', path: 1464, most: 1472, found: 1464 },
  { name: 'WireGuard over IPv6', path: 1372, most: 1452, found: 1372 },
  { name: 'links of 1,280 bytes', path: 1252, most: 1472, found: 1252 },
  { name: 'a path that takes the base alone', path: 1200, most: 1472, found: 1200 },
  { name: 'an odd path', path: 1440, most: 1472, found: 1428 },
]) {
  test(`${name}: ${found} bytes are found with few probes (RFC 9000 §14.3)`, () => {
    const pair = searched(path, most);
    assert.equal(sizeOf(pair), found);
    // The largest size first; a size is too large when three probes of it were lost (RFC 8899 §5.1.2).
    const sizes = probes(pair);
    assert.equal(sizes[0], most);
    assert.ok(sizes.length <= 1 + 3 * 6, String(sizes));
    for (const size of sizes) {
      const count = sizes.filter((one) => one === size).length;
      assert.equal(count, size > path ? 3 : 1, `${size} bytes`);
    }
  });
}

test('a path is searched again after ten minutes (RFC 8899 §5.1.1)', () => {
  const pair = searched(1252);
  pair.limit = 1472;
  pair.advance(TEN_MINUTES - 31_000);
  assert.equal(sizeOf(pair), 1252);
  pair.advance(32_000);
  assert.equal(sizeOf(pair), 1472);
});

test('a size that the system refuses is not used again until the next search', () => {
  const pair = searched(1472);
  const { connection } = pair.client;
  connection.onTooLarge(1472, pair.now);
  pair.advance(10_000);
  assert.equal(sizeOf(pair), 1200);
  pair.advance(TEN_MINUTES);
  assert.equal(sizeOf(pair), 1472);
  assert.deepEqual(new Set(probes(pair)), new Set([1472]));
});

test('a probe that the system refuses is followed by smaller ones', () => {
  const pair = new Pair({ delay: 10, client: { maxDatagram: 8972 } }).connect();
  pair.client.connection.onTooLarge(8972, pair.now);
  pair.passes = ({ data }) => data.length <= 1472;
  pair.advance(10_000);
  assert.equal(sizeOf(pair), 1472);
});

/** Sends so much, and waits until it has arrived. */
function upload(pair: Pair, bytes: number): void {
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, bytes);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
}

test('larger datagrams that no longer arrive are given up for ten minutes (RFC 8899 §4.3)', () => {
  const pair = searched(1472);
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 100_000, 16_384, false);
  pair.limit = 1300;
  pair.run(() => sizeOf(pair) === 1200);
  upload(pair, 50_000);
  const { length } = probes(pair);
  pair.advance(50_000);
  assert.equal(probes(pair).length, length, 'no search before its time');
  pair.advance(TEN_MINUTES);
  assert.equal(sizeOf(pair), 1252);
});

test('a path that loses everything for a while is searched again after a minute', () => {
  const pair = searched(1472);
  const { passes } = pair;
  pair.passes = () => false;
  pair.client.send(pair.client.connection.openStream(true) ?? -1, 100);
  pair.run(() => sizeOf(pair) === 1200);
  pair.passes = passes;
  pair.advance(50_000);
  assert.equal(sizeOf(pair), 1200);
  pair.advance(20_000);
  assert.equal(sizeOf(pair), 1472);
});

test('losses of one flight, however large its datagrams, show no black hole', () => {
  const pair = searched(1472);
  let isLost = false;
  pair.passes = (_, towards) => towards === 'client' || !isLost;
  for (let flight = 0; flight < 6; flight++) {
    const id = pair.client.connection.openStream(true) ?? -1;
    pair.client.send(id, 10_000);
    isLost = true;
    pair.flush();
    isLost = false;
    pair.run(() => pair.server.streams.get(id)?.end === 'finished');
    assert.equal(sizeOf(pair), 1472);
  }
});
