import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { MtuSearch } from '../../../../src/quic/path/mtu-search.ts';

const TEN_MINUTES = 600_000;

/** Searches over a path that takes datagrams up to `limit`; returns the sizes of the probes. */
function search(mtu: MtuSearch, limit: number, now = 0): number[] {
  const probes: number[] = [];
  for (let size = mtu.probeSize(now); size !== 0; size = mtu.probeSize(now)) {
    probes.push(size);
    mtu.onProbeSent(size);
    assert.equal(mtu.probeSize(now), 0);
    if (size <= limit) assert.equal(mtu.onProbeAcknowledged(size, now), true);
    else mtu.onProbeLost(size, now);
  }
  return probes;
}

describe('the search for the path MTU (RFC 8899, RFC 9000 §14.3)', () => {
  test('it starts with 1,200 bytes (RFC 9000 §14.1)', () => {
    assert.equal(new MtuSearch({ most: 1472 }).current, 1200);
  });

  for (const { path, most, expected } of [
    { path: 1472, most: 1472, expected: [1472] },
    { path: 65_507, most: 65_507, expected: [65_507] },
    { path: 1452, most: 1452, expected: [1452] },
  ]) {
    test(`one probe is enough where ${most} bytes pass`, () => {
      const mtu = new MtuSearch({ most });
      assert.deepEqual(search(mtu, path), expected);
      assert.equal(mtu.current, most);
      assert.equal(mtu.timeout, Infinity);
    });
  }

  for (const { name, path, most, found } of [
    { name: 'PPPoE over IPv4', path: 1464, most: 1472, found: 1464 },
    { name: 'WireGuard over IPv6', path: 1372, most: 1452, found: 1372 },
    { name: 'links of 1,280 bytes', path: 1252, most: 1472, found: 1252 },
    { name: 'Ethernet, from a host with jumbo frames', path: 1472, most: 8972, found: 1472 },
    { name: 'a path that takes the base alone', path: 1200, most: 1472, found: 1200 },
    { name: 'an odd path', path: 1440, most: 1472, found: 1428 },
  ]) {
    test(`${name}: ${found} bytes`, () => {
      const mtu = new MtuSearch({ most });
      const probes = search(mtu, path, 1000);
      assert.equal(mtu.current, found);
      assert.ok(probes.length <= 1 + 3 * 6, String(probes));
      assert.equal(mtu.timeout, 1000 + TEN_MINUTES);
    });
  }

  test('a size is too large when three probes of it were lost (RFC 8899 §5.1.2)', () => {
    const mtu = new MtuSearch({ most: 1472 });
    for (let i = 0; i < 2; i++) {
      mtu.onProbeSent(mtu.probeSize(0));
      mtu.onProbeLost(1472, 0);
      if (i === 0) assert.equal(mtu.probeSize(0), 1472);
    }
    // The first size gives way to smaller ones only after its third loss.
    const third = mtu.probeSize(0);
    mtu.onProbeSent(third);
    assert.equal(third, 1472);
    mtu.onProbeAcknowledged(1472, 0);
    assert.equal(mtu.current, 1472);
  });

  test('it begins again after ten minutes (RFC 8899 §5.1.1)', () => {
    const mtu = new MtuSearch({ most: 1472 });
    search(mtu, 1252);
    assert.equal(mtu.probeSize(TEN_MINUTES - 1), 0);
    assert.deepEqual(search(mtu, 1472, mtu.timeout), [1472]);
    assert.equal(mtu.timeout, Infinity);
  });

  test('what the peer takes bounds it (RFC 9000 §18.2)', () => {
    const mtu = new MtuSearch({ most: 8972 });
    mtu.setMost(1400);
    assert.deepEqual(search(mtu, 9000), [1400]);
    mtu.setMost(1300);
    assert.equal(mtu.current, 1300);
    mtu.setMost(1000);
    assert.equal(mtu.current, 1200);
    assert.equal(mtu.probeSize(0), 0);
  });

  test('a size that the system refuses is not tried again', () => {
    const mtu = new MtuSearch({ most: 8972 });
    const size = mtu.probeSize(0);
    mtu.onProbeSent(size);
    assert.equal(mtu.onTooLarge(size, 0), false);
    assert.ok(!search(mtu, 1472).includes(size));
    assert.equal(mtu.current, 1472);
    assert.equal(mtu.onTooLarge(1472, 5), true);
    assert.equal(mtu.current, 1200);
    assert.equal(mtu.timeout, 5 + TEN_MINUTES);
  });

  test('a probe of a path that was left does not block the search', () => {
    const mtu = new MtuSearch({ most: 1472 });
    mtu.onProbeSent(mtu.probeSize(0));
    mtu.abandonProbe();
    assert.deepEqual(search(mtu, 1472), [1472]);
  });

  test('any path is searched within few probes, and never beyond what passes', () => {
    const sizes = fc.record({
      path: fc.integer({ min: 1200, max: 65_507 }),
      most: fc.integer({ min: 1200, max: 65_507 }),
    });
    fc.assert(
      fc.property(sizes, ({ path, most }) => {
        const mtu = new MtuSearch({ most });
        const probes = search(mtu, path);
        assert.ok(mtu.current <= Math.min(path, most));
        assert.ok(probes.length <= 3 * 6, String(probes));
        if (most <= path) assert.equal(mtu.current, most);
      }),
    );
  });
});

describe('black holes (RFC 8899 §4.3)', () => {
  const found = (): MtuSearch => {
    const mtu = new MtuSearch({ most: 1472 });
    search(mtu, 1472);
    return mtu;
  };

  test('when larger datagrams are lost three times in a row, the base is used again', () => {
    const mtu = found();
    assert.equal(mtu.onLost(1472, 50, 100), false);
    assert.equal(mtu.onLost(1472, 150, 200), false);
    mtu.onAcknowledged(1200);
    assert.equal(mtu.onLost(1472, 250, 300), true);
    assert.equal(mtu.current, 1200);
    assert.equal(mtu.probeSize(300), 0);
    assert.equal(mtu.timeout, 300 + TEN_MINUTES);
    assert.deepEqual(
      search(mtu, 1300, mtu.timeout),
      [1472, 1472, 1472, 1392, 1392, 1392, 1312, 1312, 1312, 1252],
    );
    assert.equal(mtu.current, 1252);
  });

  test('one that arrives shows that there is none', () => {
    const mtu = found();
    for (let now = 0; now < 1000; now += 100) {
      mtu.onLost(1472, now - 5, now);
      mtu.onLost(1472, now + 5, now + 10);
      mtu.onAcknowledged(1472);
    }
    assert.equal(mtu.current, 1472);
  });

  test('many losses at once are one, for they may be congestion', () => {
    const mtu = found();
    // Timers find what was sent in the end one by one, while the peer acknowledges nothing.
    for (let i = 0; i < 100; i++) mtu.onLost(1472, i / 10, 100 + i / 10);
    assert.equal(mtu.current, 1472);
  });

  test('lost small datagrams show nothing', () => {
    const mtu = found();
    for (let now = 0; now < 1000; now += 100) mtu.onLost(1200, now - 5, now);
    assert.equal(mtu.current, 1472);
  });

  test('probe timeouts in a row end it too, for nothing may come back at all', () => {
    const mtu = found();
    assert.equal(mtu.onProbeTimeout(2, 100), false);
    assert.equal(mtu.onProbeTimeout(3, 200), true);
    assert.equal(mtu.current, 1200);
    assert.equal(mtu.onProbeTimeout(4, 400), false);
    assert.equal(mtu.timeout, 200 + 60_000);
  });

  test('a large datagram that arrives after all undoes the fall back', () => {
    const mtu = found();
    mtu.onProbeTimeout(3, 200);
    mtu.onAcknowledged(1200);
    assert.equal(mtu.current, 1200);
    mtu.onAcknowledged(1472);
    assert.equal(mtu.current, 1472);
    // Not what the system refused in the meantime.
    mtu.onTooLarge(1472, 300);
    mtu.onAcknowledged(1472);
    assert.equal(mtu.current, 1200);
  });
});
