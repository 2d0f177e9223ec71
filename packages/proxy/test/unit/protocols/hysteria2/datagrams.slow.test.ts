import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ASSOCIATION_QUEUE,
  ASSOCIATION_SILENCE_MS,
  SILENCE_MS,
  ASSOCIATIONS_A_CONNECTION,
  MOST_ASSOCIATIONS,
  MOST_WAITING_SESSIONS,
} from '../../../../src/protocols/hysteria2/limits.ts';
import { encodeUdpMessage } from '../../../../src/protocols/hysteria2/wire.ts';
import { FLOWS_RESUMED_A_TURN } from '../../../../../io/src/net/time/turns.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import type { FakeConnection } from '../../../../../../test/support/protocols/hysteria2/fake-quic.ts';
import {
  Bench,
  echo,
  patient,
} from '../../../../../../test/support/protocols/hysteria2/harness.ts';
import { dialError } from '../../../../../../test/support/protocols/dial-error.ts';
import { authentication } from '../../../../../../test/support/protocols/hysteria2/requests.ts';

describe('datagrams through Hysteria 2', () => {
  test('come back from wherever they are sent', async () => {
    const bench = new Bench();
    await bench.listen();
    const link = await bench.client().associate(patient);
    for (const peer of [echo, { host: '192.0.2.9', port: 53 }, { host: '2001:db8::9', port: 5 }]) {
      link.send({ data: Buffer.from('query'), peer });
      const packet = await link.receive();
      assert.deepEqual(packet && { ...packet, data: Buffer.from(packet.data).toString() }, {
        data: 'query',
        peer,
      });
    }
    bench.dispatcher.answerFrom = { host: '198.51.100.7', port: 9 };
    link.send({ data: Buffer.from('query'), peer: echo });
    assert.deepEqual((await link.receive())?.peer, { host: '198.51.100.7', port: 9 });
  });

  test('are fragmented to what the connection takes', async () => {
    const bench = new Bench();
    await bench.listen();
    const link = await bench.client().associate(patient);
    const data = Buffer.from(Array.from({ length: 4096 }, (_, at) => at & 0xff));
    link.send({ data, peer: echo });
    assert.deepEqual(Buffer.from((await link.receive())?.data ?? []), data);
    link.send({ data: Buffer.alloc(4097), peer: echo });
    assert.equal(link.dropped, 1);
  });

  test('of several associations stay apart', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const links = await Promise.all([client.associate(patient), client.associate(patient)]);
    for (const [at, link] of links.entries()) link.send({ data: Buffer.of(at), peer: echo });
    for (const [at, link] of links.entries()) assert.equal((await link.receive())?.data[0], at);
    assert.equal(bench.dispatcher.associations.length, 2);
  });

  test('find out that a server is gone by its silence, without those of live ones', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const link = await client.associate(patient);
    link.send({ data: Buffer.of(1), peer: echo });
    assert.equal((await link.receive())?.data[0], 1);
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    bench.clock.advance(ASSOCIATION_SILENCE_MS);
    (await client.associate(patient)).close();
    assert.equal(bench.network.connections.length, 1, 'nothing was unanswered');

    connection.isCut = true;
    const pending = assert.rejects(link.receive(), /the server is silent/);
    link.send({ data: Buffer.of(2), peer: echo });
    bench.clock.advance(SILENCE_MS);
    // New flows go elsewhere, while the old one may recover.
    const other = await client.associate(patient);
    assert.equal(bench.network.connections.length, 2);
    other.send({ data: Buffer.of(3), peer: echo });
    assert.equal((await other.receive())?.data[0], 3);
    bench.clock.advance(ASSOCIATION_SILENCE_MS - SILENCE_MS);
    await pending;
    assert.equal(connection.reason, undefined, 'its streams may recover');
    other.send({ data: Buffer.of(4), peer: echo });
    assert.equal((await other.receive())?.data[0], 4);
    connection.isCut = false;
    client.close();
    await settle();
    assert.equal(bench.clock.timers, 0);
  });

  test('survive a silence that ends in time', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const link = await client.associate(patient);
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    connection.isCut = true;
    link.send({ data: Buffer.of(1), peer: echo });
    bench.clock.advance(ASSOCIATION_SILENCE_MS - 1);
    connection.isCut = false;
    link.send({ data: Buffer.of(2), peer: echo });
    assert.equal((await link.receive())?.data[0], 2);
    bench.clock.advance(ASSOCIATION_SILENCE_MS);
    link.send({ data: Buffer.of(3), peer: echo });
    assert.equal((await link.receive())?.data[0], 3);
  });

  test('of a burst that comes at once all reach a reader that takes them as they come', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const link = await client.associate(patient);
    link.send({ data: Buffer.of(0), peer: echo });
    await link.receive();
    const [[, server]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    const burst = 4 * ASSOCIATION_QUEUE;
    let taken = 0;
    const all = link.receiveAll?.(() => taken++);
    for (let packetId = 0; packetId < burst; packetId++) {
      const whole = {
        packetId: 0,
        fragmentId: 0,
        fragmentCount: 1,
        address: Buffer.from('[::9]:9'),
      };
      server.sendDatagram(encodeUdpMessage({ ...whole, sessionId: 1, data: Buffer.of(1) }));
    }
    assert.deepEqual([taken, link.dropped], [burst, 0]);
    link.close();
    await all;
  });

  test('are not offered by a server without UDP', async () => {
    const bench = new Bench();
    await bench.listen({ udp: undefined });
    const client = bench.client();
    await client.connect(echo, patient);
    await assert.rejects(
      client.associate(patient),
      dialError('unsupported', 'hy.example:443: the server relays no UDP'),
    );
  });

  test('keep an association open for its idle time', async () => {
    const bench = new Bench();
    await bench.listen({ udp: { idleSeconds: 5 } });
    const link = await bench.client().associate(patient);
    const exchange = async (): Promise<void> => {
      link.send({ data: Buffer.of(1), peer: echo });
      await link.receive();
    };
    await exchange();
    bench.clock.advance(4000);
    await exchange();
    bench.clock.advance(4000);
    await exchange();
    assert.equal(bench.dispatcher.associations.length, 1);
    bench.clock.advance(5000);
    await exchange();
    assert.equal(bench.dispatcher.associations.length, 2, 'the same id begins anew');
  });

  test('end with their connection', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const link = await bench.client().associate(patient);
    link.send({ data: Buffer.of(1), peer: echo });
    await link.receive();
    listener.destroy(new Error('over'));
    await assert.rejects(link.receive(), /closed the connection/);
    await settle();
    assert.equal(bench.clock.timers, 0);
  });
});

describe('associations of one client', () => {
  const datagram = (sessionId: number): Uint8Array =>
    encodeUdpMessage({
      sessionId,
      packetId: 0,
      fragmentId: 0,
      fragmentCount: 1,
      address: Buffer.from('echo.example:7'),
      data: Buffer.of(1),
    });

  test('are bounded, and one that is used stays', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    for (let id = 0; id < 20_000; id++) {
      bench.clock.advance(1);
      connection.sendDatagram(datagram(7_000_000));
      connection.sendDatagram(datagram(id));
      if (id % 100 === 0) await settle();
    }
    await settle();
    assert.equal(bench.dispatcher.live, ASSOCIATIONS_A_CONNECTION);
    const used = bench.dispatcher.associations[0];
    assert.ok(used);
    let isClosed = false;
    void used.client.closed.then(() => (isClosed = true));
    await settle();
    assert.equal(isClosed, false);
  });

  test('that begin with one packet begin in turns of the event loop, and are bounded', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    await settle();
    for (let id = 0; id < 1000; id++) connection.sendDatagram(datagram(id));
    const { associations } = bench.dispatcher;
    // Others may have taken a part of this turn.
    const atOnce = associations.length;
    assert.ok(atOnce <= FLOWS_RESUMED_A_TURN);
    await settle(3 + MOST_WAITING_SESSIONS / FLOWS_RESUMED_A_TURN);
    assert.equal(associations.length, atOnce + MOST_WAITING_SESSIONS);
    connection.sendDatagram(datagram(1000));
    assert.equal(associations.length, atOnce + MOST_WAITING_SESSIONS + 1);
  });

  test('leave room for those of others, however many connections it has', async () => {
    const bench = new Bench();
    await bench.listen();
    bench.network.clientHost = '192.0.2.66';
    const honest = await bench.prober();
    await honest.http.request(authentication());
    for (let id = 0; id < 10; id++) honest.connection.sendDatagram(datagram(id));
    bench.network.clientHost = '192.0.2.67';
    for (let count = 0; count < MOST_ASSOCIATIONS / ASSOCIATIONS_A_CONNECTION + 2; count++) {
      const { connection, http } = await bench.prober();
      await http.request(authentication());
      for (let id = 0; id < ASSOCIATIONS_A_CONNECTION; id++) {
        connection.sendDatagram(datagram(id));
        if (id % MOST_WAITING_SESSIONS === 0) await settle();
      }
      await settle();
    }
    assert.equal(bench.dispatcher.live, MOST_ASSOCIATIONS);
    const closed: number[] = [];
    for (const [at, { client }] of bench.dispatcher.associations.slice(0, 10).entries()) {
      void client.closed.then(() => closed.push(at));
    }
    for (let id = 10; id < 20; id++) honest.connection.sendDatagram(datagram(id));
    await settle();
    assert.deepEqual(closed, []);
    assert.equal(bench.dispatcher.live, MOST_ASSOCIATIONS);
  });
});
