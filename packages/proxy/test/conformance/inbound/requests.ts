import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import type { Target } from '../../../../../test/support/protocols/inbounds/address.ts';
import type { Ending, InboundClient, InboundHarness } from './harness.ts';
import { clientIfNamed, clientOf, opened, Rig, SITE, text, type Connection } from './rig.ts';

const DESTINATIONS: readonly Endpoint[] = [
  { host: '192.0.2.7', port: 443 },
  { host: '2001:db8::7', port: 65_535 },
  { host: 'www.example', port: 0 },
  { host: 'a'.repeat(255), port: 1 },
  { host: 'b\u00fccher.example', port: 80 },
];

/** Names as they are sent, and the host that they stand for; `undefined` for those that are rejected. */
const NAMES: readonly (readonly [string, string | undefined])[] = [
  ['192.0.2.7', '192.0.2.7'],
  ['2001:DB8::0:7', '2001:db8::7'],
  ['[::1]', '::1'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['', undefined],
  ['a b', undefined],
  ['a\0b', undefined],
  ['a\r\nb', undefined],
  ['a\xff\xfe', undefined],
];

/** Requests in any pieces, of any destination, and those that are none. */
export function requests(harness: InboundHarness): void {
  const { rejected } = harness;

  test('reads a request the same wherever it is split', async () => {
    const rig = new Rig(harness);
    const { atOnce = 1 } = harness;
    const splits: [InboundClient, Connection, Uint8Array][] = [];
    const last = clientOf(harness).first(text('payload 000')).length;
    for (let at = atOnce; at < last; at++) {
      const client = clientOf(harness);
      const whole = client.first(text(`payload ${String(at).padStart(3, '0')}`));
      const connection = await rig.send(whole.slice(0, at));
      splits.push([client, connection, whole.slice(at)]);
    }
    // Users are searched for one after the other.
    await rig.settle(2 * last);
    for (const [, connection, rest] of splits) connection.write(rest);
    await rig.settle(2 * last);
    const expected = splits.map((_, i) => `payload ${String(atOnce + i).padStart(3, '0')}`);
    assert.deepEqual(rig.engine.origins.map((origin) => origin.text).toSorted(), expected);
    for (const { destination } of rig.engine.streams) assert.deepEqual(destination, SITE);
    for (const origin of rig.engine.origins) origin.write(text(`re: ${origin.text}`));
    await rig.settle();
    for (const [i, [client, connection]] of splits.entries()) {
      assert.equal(opened(client, connection), `re: ${expected[i]}`);
      connection.link.destroy();
    }

    const client = clientOf(harness);
    const whole = client.first(text('byte by byte'));
    const connection = await rig.send(whole.slice(0, atOnce));
    for (const byte of whole.subarray(atOnce)) {
      connection.write(Uint8Array.of(byte));
      await rig.settle(1);
    }
    await rig.settle();
    assert.equal(rig.engine.origins.at(-1)?.text, 'byte by byte');
    connection.link.destroy();
  });

  test('reaches addresses of every kind, by their canonical form', async () => {
    const rig = new Rig(harness);
    const reached = async (target: Target): Promise<Endpoint | undefined> => {
      const client = clientIfNamed(harness, target);
      if (!client) return undefined;
      const before = rig.engine.streams.length;
      const connection = await rig.send(client.first(text('x')));
      await rig.settle();
      const request = rig.engine.streams[before];
      assert.ok(request, `${JSON.stringify(target)}: ${connection.error?.message}`);
      connection.link.destroy();
      return request.destination;
    };
    for (const destination of DESTINATIONS) {
      const seen = await reached(destination);
      if (seen) assert.deepEqual(seen, destination);
    }
    const mapped = await reached({ host: '::ffff:c000:207', port: 80 });
    if (mapped) assert.deepEqual(mapped, { host: '192.0.2.7', port: 80 });
    for (const [name, host] of NAMES) {
      if (host === undefined) continue;
      const seen = await reached({ host: { name: Buffer.from(name, 'latin1') }, port: 80 });
      if (seen) assert.deepEqual(seen, { host, port: 80 });
    }
  });

  test('rejects names that are none', async () => {
    const rig = new Rig(harness);
    const watched: [Connection, Ending, string][] = [];
    for (const [sent, host] of NAMES) {
      const target = { host: { name: Buffer.from(sent, 'latin1') }, port: 80 };
      const client = host === undefined && clientIfNamed(harness, target);
      if (!client) continue;
      const connection = await rig.send(client.first(text('')));
      watched.push([connection, harness.invalidName ?? rejected, JSON.stringify(sent)]);
    }
    await rig.observe(watched);
    assert.equal(rig.engine.requests, 0);
  });

  for (const { name: what, sends, error, ending = rejected } of harness.rejections) {
    test(`rejects ${what}`, async () => {
      const rig = new Rig(harness);
      const staying = await rig.send(sends);
      await rig.observe([[staying, ending, 'staying']]);
      assert.match(rig.reasonOf(staying), error);
      const later = new Rig(harness);
      const leaving = await later.send(sends);
      leaving.closeWrite();
      await later.isClean(leaving);
      assert.match(later.reasonOf(leaving), error);
      assert.equal(rig.engine.requests + later.engine.requests, 0);
    });
  }
}
