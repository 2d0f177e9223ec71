import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Packet } from '../../../../src/net/links/link.ts';
import { PacketQueue } from '../../../../src/net/packets/packets.ts';

const packet = (text: string): Packet => ({
  data: Buffer.from(text),
  peer: { host: '192.0.2.1', port: 53 },
});
const textOf = (each: Packet | undefined): string => String(each?.data);

describe('a packet queue', () => {
  test('drops and counts the newest at its limit', async () => {
    const queue = new PacketQueue(2);
    for (const text of ['a', 'b', 'c']) queue.push(packet(text));
    assert.equal(queue.dropped, 1);
    assert.equal(textOf(await queue.receive()), 'a');
    assert.equal(textOf(await queue.receive()), 'b');
  });

  test('holds a bounded number of bytes', async () => {
    const queue = new PacketQueue();
    const large = { ...packet(''), data: new Uint8Array(60_000) };
    for (let i = 0; i < 20; i++) queue.push(large);
    assert.equal(queue.dropped, 3);
    await queue.receive();
    queue.push(large);
    assert.equal(queue.dropped, 3);
  });

  test('allows one receive at a time, of either kind', async () => {
    const queue = new PacketQueue();
    const first = queue.receive();
    await assert.rejects(queue.receive(), /already pending/);
    await assert.rejects(
      queue.receiveAll(() => undefined),
      /already pending/,
    );
    queue.push(packet('a'));
    assert.equal(textOf(await first), 'a');
  });

  test('passes what waits to a receiver of all, then what comes, until it ends', async () => {
    const queue = new PacketQueue();
    const seen: string[] = [];
    queue.push(packet('a'));
    const all = queue.receiveAll((each) => seen.push(textOf(each)));
    queue.push(packet('b'));
    queue.end();
    queue.push(packet('c'));
    await all;
    assert.deepEqual(seen, ['a', 'b']);
    assert.equal(await queue.receive(), undefined);
    assert.equal(queue.dropped, 1);
  });

  test('ends with what a receiver of all throws, and passes no more', async () => {
    const queue = new PacketQueue();
    const failure = new Error('no');
    let calls = 0;
    for (const text of ['a', 'b']) queue.push(packet(text));
    const all = queue.receiveAll(() => {
      calls++;
      throw failure;
    });
    await assert.rejects(all, failure);
    queue.push(packet('c'));
    assert.equal(calls, 1);
    await assert.rejects(queue.receive(), failure);
  });

  test('rejects the pending receive when it ends with a cause', async () => {
    const queue = new PacketQueue();
    const receiving = assert.rejects(queue.receive(), /gone/);
    queue.end(new Error('gone'));
    await receiving;
    queue.end();
    await assert.rejects(queue.receive(), /gone/);
  });
});
