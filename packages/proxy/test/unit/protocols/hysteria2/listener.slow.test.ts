import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BoundedReader } from '@weir/io/links';
import { DialError } from '@weir/io';
import { HANDSHAKE_MS } from '@weir/io/time';
import { AUTHENTICATED } from '../../../../src/protocols/hysteria2/authentication.ts';
import {
  READER_LIMIT,
  STREAMS_AHEAD_OF_CIRCUITS,
  STREAMS_BESIDE_CIRCUITS,
  STREAMS_STEP,
  WAITING_REQUESTS_A_CONNECTION,
  MOST_WAITING_REQUESTS,
} from '../../../../src/protocols/hysteria2/limits.ts';
import {
  encodeTcpRequest,
  encodeUdpMessage,
  readTcpResponse,
} from '../../../../src/protocols/hysteria2/wire.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import { readAll } from '../../../../../../test/support/read-link.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import {
  Bench,
  echo,
  patient,
} from '../../../../../../test/support/protocols/hysteria2/harness.ts';
import {
  authentication,
  fieldOf,
} from '../../../../../../test/support/protocols/hysteria2/requests.ts';

describe('a listener', () => {
  test('serves a visitor for as long as it stays', async () => {
    const bench = new Bench();
    await bench.listen();
    const { http } = await bench.prober();
    for (let minute = 0; minute < 60; minute++) {
      bench.clock.advance(60_000);
      assert.equal((await http.request(authentication({ 'hysteria-auth': '' }))).status, 404);
    }
    assert.equal((await http.request(authentication())).status, AUTHENTICATED);
    await settle();
    assert.equal(bench.clock.timers, 0);
  });

  test('sends to a client at the rate that it states, and otherwise as the path allows', async () => {
    const bench = new Bench();
    await bench.listen();
    for (const [stated, rate] of [
      ['0', undefined],
      ['auto', undefined],
      ['', undefined],
      ['125000', 125_000],
    ] as const) {
      const { http } = await bench.prober();
      const response = await http.request(authentication({ 'hysteria-cc-rx': stated }));
      assert.equal(response.status, AUTHENTICATED);
      assert.equal(fieldOf(response, 'hysteria-cc-rx'), '0');
      assert.equal(bench.network.connections.at(-1)?.[1]?.rate, rate);
    }
  });

  test('resets streams and drops associations beyond its circuits', async () => {
    const bench = new Bench();
    await bench.listen({ maxCircuits: 2 });
    const client = bench.client();
    const stream = await client.connect(echo, patient);
    const udp = await client.associate(patient);
    udp.send({ data: Buffer.of(1), peer: echo });
    await udp.receive();
    await assert.rejects(
      client.connect(echo, patient),
      /^DialError: hy.example:443: the server rejected the stream: the peer reset the stream/,
    );
    const second = await client.associate(patient);
    second.send({ data: Buffer.of(2), peer: echo });
    await settle();
    assert.equal(bench.dispatcher.associations.length, 1);
    await stream.closeWrite();
    await settle();
    second.send({ data: Buffer.of(3), peer: echo });
    assert.equal((await second.receive())?.data[0], 3);
    udp.close();
  });

  test('allows streams ahead of those that are circuits, once the client has authenticated', async () => {
    const bench = new Bench();
    const listener = await bench.listen({ maxCircuits: 5000 });
    await bench.prober();
    const client = bench.client();
    const links = [await client.connect(echo, patient)];
    const [unauthenticated, authenticated] = bench.network.connections.map(([, far]) => far);
    assert.equal(unauthenticated?.allowed, undefined);
    assert.equal(authenticated?.allowed, STREAMS_STEP + STREAMS_AHEAD_OF_CIRCUITS);
    while (links.length < 4 * STREAMS_STEP) links.push(await client.connect(echo, patient));
    assert.equal(authenticated.allowed, 5000 + STREAMS_BESIDE_CIRCUITS, 'as many as its circuits');
    listener.swap(bench.server({ maxCircuits: 7000 }), bench.registry);
    assert.equal(unauthenticated?.allowed, undefined);
    assert.equal(authenticated.allowed, 4 * STREAMS_STEP + STREAMS_AHEAD_OF_CIRCUITS);
    for (const link of links) link.destroy();
    await settle();
    assert.equal(authenticated.allowed, STREAMS_AHEAD_OF_CIRCUITS);
  });

  test('follows a client that moves', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    await client.connect(echo, patient);
    bench.network.connections[0]?.[1]?.migrate({ host: '::ffff:198.51.100.7', port: 5 });
    assert.equal(bench.tracker.sessions()[0]?.source, '198.51.100.7');
    await client.connect(echo, patient);
    assert.equal(bench.dispatcher.streams[1]?.origin.source, '198.51.100.7');
  });

  test('passes new clients to the next settings and keeps live ones', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const old = bench.client();
    await old.connect(echo, patient);
    const credentials = { password: 'changed' };
    listener.swap(bench.server({ credentials, maxCircuits: 3 }), bench.createRegistry());
    await old.connect(echo, patient);
    await assert.rejects(bench.client().connect(echo, patient), /rejected the password/);
    await bench.client({ password: 'changed' }).connect(echo, patient);
    await assert.rejects(old.connect(echo, patient), /rejected the stream/);
  });

  test('ends clients without flows when the proxy stops, and no others', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const [idle, busy, talking] = [bench.client(), bench.client(), bench.client()];
    const spent = await idle.connect(echo, patient);
    await spent.closeWrite();
    assert.deepEqual(await readAll(spent), Buffer.alloc(0));
    const link = await busy.connect(echo, patient);
    const packets = await talking.associate(patient);
    packets.send({ data: Buffer.of(1), peer: echo });
    await packets.receive();
    await settle();
    listener.retire();
    listener.endIdle?.();
    const hasEnded = bench.network.connections.map(([near]) => near.reason !== undefined);
    assert.deepEqual(hasEnded, [true, false, false]);
    assert.equal(bench.registry.count, 2);
    await link.write(Buffer.from('the last bytes'));
    await link.closeWrite();
    assert.equal(String(await readAll(link)), 'the last bytes');
    packets.close();
    bench.clock.advance(60_000);
    await settle();
    listener.endIdle?.();
    await listener.closed;
    assert.equal(bench.registry.count, 0);
  });

  test('judges a client by the settings of the moment in which it authenticates', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const { http } = await bench.prober();
    const next = bench.createRegistry();
    listener.swap(bench.server({ credentials: { password: 'changed' } }), next);
    assert.equal((await http.request(authentication())).status, 404);
    const right = authentication({ 'hysteria-auth': 'changed' });
    assert.equal((await http.request(right)).status, AUTHENTICATED);
    assert.deepEqual([bench.registry.count, next.count], [0, 1]);
  });

  test('lets a client that moved on to wrong credentials in again with the right ones', async () => {
    const bench = new Bench();
    await bench.listen();
    const { http } = await bench.prober();
    const wrong = authentication({ 'hysteria-auth': 'wrong' });
    assert.equal((await http.request(wrong)).status, 404);
    assert.equal((await http.request(authentication())).status, AUTHENTICATED);
    assert.equal((await http.request(wrong)).status, 404);
    assert.equal((await http.request(authentication())).status, AUTHENTICATED);
    assert.equal(bench.registry.count, 1);
  });

  test('ends every client that has not authenticated when it is retired, and no other', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const link = await bench.client().connect(echo, patient);
    const visitors = [await bench.prober(), await bench.prober(), await bench.prober()];
    listener.retire();
    for (const { connection } of visitors) assert.equal((await connection.closed).code, 0x100);
    await link.write(Buffer.from('still here'));
    await link.closeWrite();
    assert.equal(String(await readAll(link)), 'still here');
  });

  test('ends a removed client after its last flow, also when it holds a stream open', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    const flow = await connection.openStream('bidirectional');
    await flow.write(encodeTcpRequest('echo.example:7', new SeededRandom(1)));
    await settle();
    await bench.removeAccounts();
    bench.clock.advance(2 * HANDSHAKE_MS);
    await settle();
    const codeOfEnd = (): number | undefined => bench.network.connections[0]?.[0].reason?.code;
    assert.equal(codeOfEnd(), undefined, 'its open flow goes on');
    bench.dispatcher.failure = new DialError('forbidden', 'the account has been removed');
    // Each is refused, and its client does not end it: none of them keeps the connection.
    const request = async (): Promise<void> => {
      const refused = await connection.openStream('bidirectional');
      await refused.write(encodeTcpRequest('echo.example:7', new SeededRandom(1)));
      await settle();
    };
    await request();
    await flow.closeWrite();
    await readAll(flow);
    for (let i = 0; i < 3; i++) {
      assert.equal(codeOfEnd(), undefined);
      await request();
      bench.clock.advance(Math.ceil(HANDSHAKE_MS / 3));
      await settle();
    }
    assert.equal(codeOfEnd(), 0x100);
    assert.equal(bench.clock.timers, 0);
  });

  test('bounds no clients itself that do not authenticate: its port does', async () => {
    const bench = new Bench();
    await bench.listen({ maxConnections: 8 });
    for (let count = 0; count < 8; count++) await bench.prober();
    assert.ok(bench.network.connections.every(([near]) => near.reason === undefined));
  });

  test('gives up the oldest of many streams whose request never ends, and each in time', async () => {
    const bench = new Bench();
    await bench.listen();
    const honest = await bench.prober();
    await honest.http.request(authentication());
    const late = await honest.connection.openStream('bidirectional');
    await late.write(Buffer.of(0x44));
    const connections = MOST_WAITING_REQUESTS / WAITING_REQUESTS_A_CONNECTION + 1;
    for (let count = 0; count < connections; count++) {
      const { connection, http } = await bench.prober();
      await http.request(authentication());
      for (let stream = 0; stream < 2 * WAITING_REQUESTS_A_CONNECTION; stream++) {
        await (await connection.openStream('bidirectional')).write(Buffer.of(0x44));
      }
    }
    await settle();
    const waiting = bench.network.connections.flatMap(([near]) =>
      near.opened.filter(({ bidirectional, isOver }) => bidirectional && !isOver),
    );
    assert.equal(waiting.length, MOST_WAITING_REQUESTS);
    // The honest client is one of many, and its stream the oldest of all: it is not the one that gives way.
    const request = encodeTcpRequest('echo.example:7', new SeededRandom(1));
    await late.write(request.subarray(1));
    const response = await readTcpResponse(new BoundedReader(late, READER_LIMIT));
    assert.deepEqual(response, { ok: true, message: 'Connected' });
    bench.clock.advance(HANDSHAKE_MS);
    await settle();
    assert.equal(waiting.filter(({ isOver }) => !isOver).length, 1);
  });

  test('passes no stream and no datagram of a client that has not authenticated', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection } = await bench.prober();
    const stream = await connection.openStream('bidirectional');
    await stream.write(encodeTcpRequest('echo.example:7', new SeededRandom(1)));
    connection.sendDatagram(
      encodeUdpMessage({
        sessionId: 1,
        packetId: 0,
        fragmentId: 0,
        fragmentCount: 1,
        address: Buffer.from('echo.example:7'),
        data: Buffer.of(1),
      }),
    );
    await settle();
    assert.deepEqual([bench.dispatcher.streams, bench.dispatcher.associations], [[], []]);
  });

  test('ends a stream whose request does not come, and no other', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    const stream = await connection.openStream('bidirectional');
    await stream.write(encodeTcpRequest('echo.example:7', new SeededRandom(1)).subarray(0, 5));
    await settle();
    bench.clock.advance(HANDSHAKE_MS);
    await assert.rejects(stream.read(), /took longer/);
    assert.equal(bench.registry.count, 1);
  });
});
