import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FaultyDevice, type Faults } from '../../src/faulty-device.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import {
  devicePair,
  offloadTraits,
  plainTraits,
} from '../../../../test/support/netstack/device-pair.ts';
import { endpoint, stackPair } from '../../../../test/support/netstack/stack-pair.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';

/** Sends numbered packets through a device with these faults. Returns what arrives, and when. */
async function sent(
  count: number,
  faults: Faults,
  seed = 1,
): Promise<{ readonly bytes: Buffer; readonly at: number }[]> {
  const clock = new ManualClock();
  const [left, right] = devicePair(plainTraits());
  const device = new FaultyDevice(left, faults, clock, new SeededRandom(seed));
  const arrived: { bytes: Buffer; at: number }[] = [];
  right.start({
    onPacket: ({ buffer, start, end }) =>
      arrived.push({ bytes: Buffer.from(buffer.subarray(start, end)), at: clock.now() }),
    onDrained: () => undefined,
    onWritable: () => undefined,
    onTraits: () => undefined,
    onPathRestored: () => undefined,
  });
  for (let number = 0; number < count; number++) {
    assert.equal(device.reserve(100), 0);
    device.buffer.fill(number, 0, 100);
    device.commit(100, 0, -1, 0);
  }
  device.flush();
  for (let at = 0; at <= 100; at++) {
    await turn();
    clock.advance(1);
  }
  assert.equal(clock.timers, 0);
  device.close();
  return arrived;
}

const numbers = (arrived: readonly { readonly bytes: Buffer }[]): (number | undefined)[] =>
  arrived.map(({ bytes }) => bytes[0]);

const inOrder = (arrived: readonly { readonly bytes: Buffer }[]): (number | undefined)[] =>
  numbers(arrived).toSorted((a = 0, b = 0) => a - b);

describe('a device with faults', () => {
  test('passes all packets in order without any', async () => {
    const arrived = await sent(20, {});
    assert.deepEqual(
      numbers(arrived),
      Array.from({ length: 20 }).map((_, number) => number),
    );
  });

  test('drops and duplicates some, the same ones with the same seed', async () => {
    const faults = { drop: 0.3, duplicate: 0.3 };
    const first = numbers(await sent(100, faults));
    const kinds = new Set(first);
    assert.ok(kinds.size > 50 && kinds.size < 90, `${kinds.size} arrived`);
    assert.ok(first.length > kinds.size + 10, `${first.length} of ${kinds.size} packets`);
    assert.deepEqual(numbers(await sent(100, faults)), first);
    assert.notDeepEqual(numbers(await sent(100, faults, 2)), first);
  });

  test('flips one bit of those that it corrupts', async () => {
    for (const { bytes } of await sent(50, { corrupt: 1 })) {
      const counts = Map.groupBy(bytes, (byte) => byte);
      const [common = 0] = [...counts].toSorted((a, b) => b[1].length - a[1].length)[0] ?? [];
      const odd = bytes.filter((byte) => byte !== common);
      assert.equal(odd.length, 1);
      const changed = ((odd[0] ?? 0) ^ common).toString(2);
      assert.equal(changed.replaceAll('0', ''), '1');
    }
  });

  test('delays all, and lets others overtake those that it reorders', async () => {
    const delayed = await sent(20, { delay: 7 });
    assert.ok(delayed.every(({ at }) => at >= 7 && at < 10));
    assert.deepEqual(numbers(delayed), inOrder(delayed));
    const reordered = await sent(100, { reorder: 0.2 });
    assert.equal(reordered.length, 100);
    assert.notDeepEqual(numbers(reordered), inOrder(reordered));
  });
});

describe('the driver of a stack on a device', () => {
  const cases: readonly (readonly [name: string, faults: Faults])[] = [
    ['drops packets', { drop: 0.05 }],
    ['duplicates packets', { duplicate: 0.3 }],
    ['corrupts packets', { corrupt: 0.03 }],
    ['reorders packets', { reorder: 0.2, delay: 10 }],
    ['does all of it', { drop: 0.03, duplicate: 0.05, corrupt: 0.02, reorder: 0.1, delay: 5 }],
  ];
  for (const [name, faults] of cases) {
    for (const traits of [plainTraits(), offloadTraits()]) {
      const how = traits.tcpSegmentation ? 'with offloads' : 'without offloads';
      test(`that ${name} delivers every byte, ${how}`, async () => {
        const clock = new ManualClock();
        const pair = stackPair({ clock, traits, faults });
        const connecting = pair.client.connect(
          endpoint('192.0.2.7', 443),
          new AbortController().signal,
        );
        const accepted = pair.connection().then((request) => request.accept());
        const data = Buffer.from(new SeededRandom(7).bytes(200_000));
        const transfer = (async () => {
          const [left, right] = await Promise.all([connecting, accepted]);
          const received: Uint8Array[] = [];
          const written = (async () => {
            for (let at = 0; at < data.length; at += 16_384) {
              await left.write(Buffer.from(data.subarray(at, at + 16_384)));
            }
            await left.closeWrite();
          })();
          for (let chunk = await right.read(); chunk; chunk = await right.read()) {
            received.push(Uint8Array.from(chunk));
          }
          await written;
          return Buffer.concat(received);
        })();
        let result: Buffer | undefined;
        void transfer.then((all) => (result = all));
        for (let step = 0; step < 60_000 && result === undefined; step++) {
          for (let count = 0; count < 3; count++) await turn();
          clock.advance(5);
        }
        assert.deepEqual(result?.length, data.length);
        assert.ok(result.equals(data));
        pair.client.close();
        pair.server.close();
      });
    }
  }
});
