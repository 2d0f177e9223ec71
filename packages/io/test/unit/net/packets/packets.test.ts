import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SystemRandomSource } from '@weir/base/random';
import { GRANT_UNITS, GRANTS_A_TURN, UnitCost } from '../../../../src/net/bounds/units.ts';
import type { Packet } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { FramedPackets, PacketQueue } from '../../../../src/net/packets/packets.ts';
import { TrojanFraming } from '../../../../../proxy/src/protocols/trojan/wire.ts';
import { VlessFraming } from '../../../../../proxy/src/protocols/vless/wire.ts';
import {
  BodyOpener,
  BodySealer,
} from '../../../../../proxy/src/protocols/vmess/body/body-chunks.ts';
import { BodyDatagrams } from '../../../../../proxy/src/protocols/vmess/body/body-datagrams.ts';
import type { BodyKeys } from '../../../../../proxy/src/protocols/vmess/body/body-keys.ts';

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

const PEER = { host: '192.0.2.1', port: 53 };
/** Datagrams of a turn, of all connections together. */
const OF_A_TURN = (GRANTS_A_TURN * GRANT_UNITS) / UnitCost.datagram;
const EMPTY_OF_TROJAN = Uint8Array.of(1, 192, 0, 2, 1, 0, 53, 0, 0, 13, 10);

describe('a read of many datagrams over a stream', () => {
  for (const { name, framing, empty } of [
    { name: 'VLESS', framing: () => new VlessFraming(PEER), empty: Uint8Array.of(0, 0) },
    { name: 'Trojan', framing: () => new TrojanFraming(), empty: EMPTY_OF_TROJAN },
  ]) {
    test(`is passed on in turns that all connections share (${name})`, async () => {
      const count = 4_000;
      const taken = Array.from({ length: 10 }, () => 0);
      const links = taken.map((_, i) => {
        const [near, far] = linkPair();
        const packets = new FramedPackets(near, framing());
        void packets.receiveAll(() => void taken[i]!++); // an element of the array above
        void far.write(Buffer.concat(Array.from({ length: count }, () => empty)));
        return packets;
      });
      let turns = 0;
      while (taken.some((number) => number < count)) {
        await nextTurn();
        turns++;
      }
      assert.ok(turns >= (count * links.length) / OF_A_TURN - 2, `${turns} turns`);
      assert.deepEqual(new Set(taken), new Set([count]), 'none is lost');
      for (const link of links) link.close();
    });
  }

  test('is passed on in turns that all connections share (VMess)', async () => {
    const keys: BodyKeys = {
      cipher: 'aes-128-gcm',
      key: new Uint8Array(16),
      iv: new Uint8Array(16),
      masking: false,
      padding: false,
      lengths: undefined,
      terminated: true,
    };
    const random = new SystemRandomSource();
    const count = 1_000;
    const taken = Array.from({ length: 10 }, () => 0);
    const links = taken.map((_, i) => {
      const [carrier, far] = linkPair();
      const sealer = new BodySealer(keys, random);
      const datagrams = Array.from({ length: count }, () => sealer.datagram(Uint8Array.of(1)));
      const decoder = new BodyOpener(keys);
      const packets = new BodyDatagrams(
        { carrier, decoder, sealer, preface: new Uint8Array(0) },
        PEER,
      );
      void packets.receiveAll(() => void taken[i]!++); // an element of the array above
      void far.write(Buffer.concat(datagrams));
      return packets;
    });
    let turns = 0;
    while (taken.some((number) => number < count)) {
      await nextTurn();
      turns++;
    }
    assert.ok(turns >= (count * links.length) / OF_A_TURN - 2, `${turns} turns`);
    for (const link of links) link.close();
  });

  test('ends with the link, whatever is left of it', async () => {
    const [near, far] = linkPair();
    const packets = new FramedPackets(near, new VlessFraming(PEER));
    let taken = 0;
    void packets.receiveAll(() => void taken++);
    void far.write(Buffer.alloc(64 << 10));
    while (taken === 0) await nextTurn();
    packets.close();
    const before = taken;
    for (let i = 0; i < 100; i++) await nextTurn();
    assert.equal(taken, before);
  });
});
