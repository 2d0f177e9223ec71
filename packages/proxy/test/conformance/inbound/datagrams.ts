import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import type { PacketLink } from '@weir/io/links';
import type { Watched } from '../../../../../test/support/protocols/inbounds/engine.ts';
import type { DatagramClient, DatagramHarness, InboundHarness } from './harness.ts';
import { latin1, nextSeed, PEER, Rig, text, type Connection } from './rig.ts';

const PEERS: readonly Endpoint[] = [
  PEER,
  { host: '2001:db8::7', port: 54 },
  { host: 'dns.example', port: 65_535 },
];

/** Associations, each over a connection of its own unless the protocol has another way for them. */
export function associations(harness: InboundHarness, datagrams: DatagramHarness): void {
  const { invalid, longest, ofSession = false } = datagrams;
  const received = (
    client: DatagramClient,
    connection: Watched,
  ): (readonly [string, Endpoint?])[] =>
    (client.open(connection.received).datagrams ?? []).map(({ data, peer }) =>
      peer ? [latin1(data), peer] : [latin1(data)],
    );
  const clientTo = (peer: Endpoint): DatagramClient => datagrams.client('ann', peer, nextSeed());
  /** Begins an association with a query. */
  const ask = async (
    rig: Rig,
    peer = PEER,
  ): Promise<{ client: DatagramClient; connection: Connection }> => {
    const client = clientTo(peer);
    const connection = await rig.associate();
    connection.write(client.first(text('query')));
    await rig.settle();
    return { client, connection };
  };
  const linkOf = (rig: Rig): PacketLink => {
    const link = rig.engine.associations.at(-1)?.client;
    assert.ok(link);
    return link;
  };
  const echo = (data: string, peer: Endpoint): readonly [string, Endpoint?] =>
    datagrams.peers === 'any' ? [data, peer] : [data];

  test('carries datagrams of every size to peers of every kind, and back', async () => {
    const rig = new Rig(harness);
    for (const peer of PEERS) {
      const { client, connection } = await ask(rig, peer);
      const sizes = [1, 500, 1400, longest];
      for (const size of sizes) connection.write(client.more(Buffer.alloc(size, size), peer));
      const others = datagrams.peers === 'any' ? PEERS : [];
      for (const other of others) connection.write(client.more(text(`to ${other.host}`), other));
      await rig.settle();
      assert.deepEqual(received(client, connection), [
        echo('query', peer),
        ...sizes.map((size) => echo(latin1(Buffer.alloc(size, size)), peer)),
        ...others.map((other) => echo(`to ${other.host}`, other)),
      ]);
      assert.equal(linkOf(rig).dropped, 0);
      assert.equal(rig.engine.associations.at(-1)?.origin.user, harness.label?.('ann'));
      if (client.end) connection.write(client.end());
      connection.closeWrite();
      await rig.isClean(connection);
      assert.equal(connection.error, undefined);
    }
  });

  if (!ofSession) {
    test('reads datagrams the same wherever they are split', async () => {
      const { length } = clientTo(PEER).first(text('query'));
      for (let at = harness.atOnce ?? 1; at < length + 8; at += 3) {
        const rig = new Rig(harness);
        const client = clientTo(PEER);
        const connection = await rig.associate();
        const all = Buffer.concat([client.first(text('query')), client.more(text('more'), PEER)]);
        connection.write(all.subarray(0, at));
        await rig.settle();
        connection.write(all.subarray(at));
        await rig.settle();
        assert.deepEqual(received(client, connection), [echo('query', PEER), echo('more', PEER)]);
        connection.link.destroy();
      }
    });
  }

  test('drops and counts what is no datagram, and goes on', async () => {
    for (const other of invalid) {
      const rig = new Rig(harness);
      const client = clientTo(PEER);
      const connection = await rig.associate();
      connection.write(
        Buffer.concat([client.first(text('query')), other, client.more(text('more'), PEER)]),
      );
      await rig.settle();
      assert.deepEqual(received(client, connection), [echo('query', PEER), echo('more', PEER)]);
      assert.equal(linkOf(rig).dropped, 1);
      connection.link.destroy();
    }
  });

  test('passes datagrams on with their source, and none whose source it cannot name', async () => {
    const other: Endpoint = { host: '198.51.100.1', port: 53 };
    for (const [peer, from, isNamed] of [
      [PEER, other, false],
      [PEER, { ...PEER, port: 54 }, false],
      [{ host: 'dns.example', port: 53 }, other, true],
      [{ host: 'dns.example', port: 53 }, { ...other, port: 54 }, false],
    ] as const) {
      const rig = new Rig(harness);
      rig.engine.answerFrom = from;
      const { client, connection } = await ask(rig, peer);
      const passes = datagrams.peers === 'any' || isNamed;
      assert.deepEqual(received(client, connection), passes ? [echo('query', from)] : []);
      assert.equal(linkOf(rig).dropped, passes ? 0 : 1);
      connection.link.destroy();
    }
  });

  test('ends an association with its connection, and the connection with it', async () => {
    const rig = new Rig(harness);
    const one = await ask(rig);
    linkOf(rig).close();
    await rig.settle();
    if (!ofSession) assert.notEqual(one.connection.state, 'open');
    const two = await ask(rig);
    for (const { connection } of [one, two]) connection.link.destroy(new Error('gone'));
    await rig.isClean(one.connection, two.connection);
  });
}
