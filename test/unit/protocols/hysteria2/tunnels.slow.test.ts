import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Http3Request, Http3ResponseHead } from '../../../../src/http/http3/message.ts';
import { BoundedReader } from '../../../../src/net/links/bounded-reader.ts';
import { Deadline } from '../../../../src/net/time/deadline.ts';
import { DialError } from '../../../../src/net/errors.ts';
import { ATTEMPT_DELAY_MS } from '../../../../src/net/sockets/happy-eyeballs.ts';
import { ATTEMPTS_AT_ONCE } from '../../../../src/net/sockets/repeated-dial.ts';
import { DIAL_MS, HANDSHAKE_MS, SILENT_ATTEMPT_MS } from '../../../../src/net/time/time-limits.ts';
import { AUTHENTICATED } from '../../../../src/protocols/hysteria2/authentication.ts';
import {
  READER_LIMIT,
  ASSOCIATION_QUEUE,
  ASSOCIATION_SILENCE_MS,
  SILENCE_MS,
  STREAMS_AHEAD_OF_CIRCUITS,
  STREAMS_BESIDE_CIRCUITS,
  STREAMS_STEP,
  WAITING_REQUESTS_A_CONNECTION,
  MOST_WAITING_REQUESTS,
  ASSOCIATIONS_A_CONNECTION,
  MOST_ASSOCIATIONS,
} from '../../../../src/protocols/hysteria2/limits.ts';
import { MasqueradeSite } from '../../../../src/protocols/hysteria2/server/masquerade.ts';
import {
  encodeTcpRequest,
  encodeUdpMessage,
  readTcpResponse,
} from '../../../../src/protocols/hysteria2/wire.ts';
import { failureLine, FORGERY } from '../../../support/data/harmless-output.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';
import { readAll } from '../../../support/read-link.ts';
import { settle } from '../../../support/protocols/tunnel-harness.ts';
import type { FakeConnection } from '../../../support/protocols/hysteria2/fake-quic.ts';
import { Bench, echo, patient, PASSWORD } from '../../../support/protocols/hysteria2/harness.ts';

/** What a failure adds where not a packet has come back. */
const SILENT =
  'nothing came back from the server: no obfs is set here, and a server with obfs stays silent like this; or it does not run there, or a firewall drops UDP';

const failure =
  (code: string, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof DialError, String(error));
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };

const RUNNING = [0, 1, 2].map((at) => Buffer.alloc(40_000, at));

describe('a stream through Hysteria 2', () => {
  test('carries bytes and the end of the stream in both directions', async () => {
    const bench = new Bench();
    await bench.listen();
    const link = await bench.client().connect(echo, patient);
    const received = readAll(link);
    for (const chunk of RUNNING) await link.write(chunk);
    await link.closeWrite();
    assert.deepEqual(await received, Buffer.concat(RUNNING));
    const [request] = bench.dispatcher.streams;
    assert.deepEqual(request?.destination, echo);
    assert.equal(request?.sniff, true);
    assert.deepEqual([request?.origin.inbound, request?.origin.source], ['in', '127.0.0.1']);
    assert.equal(request?.origin.user, undefined);
  });

  test('is labelled with the user of its connection', async () => {
    const bench = new Bench();
    const users = [{ user: 'Ann', pass: 'a:b', label: 'ann@example' }];
    await bench.listen({ credentials: { users } });
    await bench.client({ password: 'aNN:a:b' }).connect(echo, patient);
    assert.equal(bench.dispatcher.streams[0]?.origin.user, 'ann@example');
  });

  test('fails with the reason of the server', async () => {
    const bench = new Bench();
    await bench.listen();
    bench.dispatcher.failure = new DialError('refused', 'echo.example:7: connection\nrefused');
    await assert.rejects(
      bench.client().connect(echo, patient),
      failure('upstream', 'hy.example:443: echo.example:7: connection refused'),
    );
    await settle();
    assert.equal(bench.book.count, 1, 'the connection lives on');
  });

  test('fails with a reason whose escapes the log writes escaped', async () => {
    const bench = new Bench();
    await bench.listen();
    bench.dispatcher.failure = new DialError('refused', `echo.example:7: no${FORGERY}`);
    const line = await failureLine(bench.client().connect(echo, patient));
    assert.match(line, /hy\.example:443: echo\.example:7: no 2026.*forged.*\\u\{202e\}\n$/);
  });

  test('fails with the name of its server once, when requests go round through it', async () => {
    const bench = new Bench();
    await bench.listen();
    const reason = 'hy.example:443: the request has passed 16 inbounds of this proxy';
    bench.dispatcher.failure = new DialError('upstream', reason);
    await assert.rejects(bench.client().connect(echo, patient), failure('upstream', reason));
  });

  test('shares its connection with others and with datagrams', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const opened = [1, 2, 3].map(() => client.connect(echo, patient));
    await Promise.all([...opened, client.associate(patient)]);
    assert.equal(bench.network.connections.length, 1);
    assert.equal(bench.tracker.sessions().length, 1);
  });

  test('has a connection of its own for each lineage', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const origin = (hops: number) => ({
      inbound: 'socks',
      source: '127.0.0.1',
      session: { lineage: { hops, foreign: false } },
    });
    await client.connect(echo, { ...patient, origin: origin(0) });
    await client.connect(echo, { ...patient, origin: origin(1) });
    await client.connect(echo, { ...patient, origin: origin(1) });
    assert.equal(bench.network.connections.length, 2);
  });

  test('is one of at most so many that are open at once', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client({ maxConcurrentStreams: 2 });
    const first = await client.connect(echo, patient);
    await client.connect(echo, patient);
    const refused = failure('failed', 'connection is at its concurrent-stream limit');
    await assert.rejects(client.connect(echo, patient), refused);
    first.destroy();
    await settle();
    await client.connect(echo, patient);
    await assert.rejects(client.connect(echo, patient), refused);
  });

  test('counts no more toward the limit when its dial fails', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client({ maxConcurrentStreams: 1 });
    bench.dispatcher.failure = new DialError('blocked', 'no');
    await assert.rejects(client.connect(echo, patient), DialError);
    bench.dispatcher.failure = undefined;
    await client.connect(echo, patient);
  });

  test('waits for the server to allow one more, and says so when it does not in time', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    await client.connect(echo, patient);
    const near = bench.network.connections[0]?.[0];
    if (near) near.streamsLeft = 0;
    using deadline = new Deadline(bench.clock, DIAL_MS, 'the connection');
    const late = client.connect(echo, deadline);
    await settle();
    bench.clock.advance(DIAL_MS);
    await assert.rejects(
      late,
      failure('timed_out', 'hy.example:443: the server allows no more streams at once'),
    );
  });

  test('takes a host with an IPv6 address in brackets', async () => {
    const bench = new Bench();
    await bench.listen();
    await bench.client().connect({ host: '2001:db8::1', port: 443 }, patient);
    const [request] = bench.dispatcher.streams;
    assert.deepEqual(request?.destination, { host: '2001:db8::1', port: 443 });
  });
});

describe('a connection of a client', () => {
  test('fails for all flows that wait for it with a wrong password', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client({ password: 'wrong' });
    const expected = failure(
      'upstream',
      'hy.example:443: the server rejected the password (HTTP status 404)',
    );
    const flows = [client.connect(echo, patient), client.associate(patient)];
    await Promise.all(flows.map((flow) => assert.rejects(flow, expected)));
    assert.equal(bench.network.connections.length, 1);
    assert.equal(bench.book.count, 0);
    const [connection] = bench.network.connections[0] as [FakeConnection, unknown];
    assert.equal(connection.reason?.code, 0x100);
  });

  test('is made anew when it has ended', async () => {
    const bench = new Bench();
    const first = await bench.listen();
    const client = bench.client();
    const link = await client.connect(echo, patient);
    first.destroy(new Error('gone'));
    await first.closed;
    await assert.rejects(link.read(), /closed the connection/);
    await bench.listen();
    await client.connect(echo, patient);
    assert.equal(bench.network.connections.length, 2);
  });

  test('that ends under a request is replaced by another one for it', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    await client.connect(echo, patient);
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    connection.isCut = true;
    const link = client.connect(echo, patient);
    await settle();
    connection.end({ kind: 'idle', by: 'self', code: 0, reason: '' });
    await (await link).closeWrite();
    assert.equal(bench.network.connections.length, 2);
  });

  test('that is dead without having said so is given up by the next request', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const old = await client.connect(echo, patient);
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    connection.isCut = true;
    const link = client.connect(echo, patient);
    await settle();
    bench.clock.advance(SILENCE_MS);
    assert.ok(await link);
    assert.equal(bench.network.connections.length, 2);
    assert.equal(connection.reason, undefined, 'its flows may recover');
    old.destroy();
  });

  test('is waited for as long as a dial may take', async () => {
    const bench = new Bench();
    bench.network.pause = new Promise(() => undefined);
    const flow = bench.client().connect(echo, patient);
    await settle();
    bench.clock.advance(DIAL_MS);
    await assert.rejects(
      flow,
      failure('timed_out', `hy.example:443: the connection took longer than 10 s; ${SILENT}`),
    );
    assert.equal(bench.clock.timers, 0);
  });

  test('is made to a server that was down when the first flow began to wait for it', async () => {
    const bench = new Bench();
    const client = bench.client();
    const first = client.connect(echo, patient);
    await settle();
    bench.clock.advance(1500 + SILENT_ATTEMPT_MS);
    await bench.listen();
    const second = client.connect(echo, patient);
    await settle();
    bench.clock.advance(SILENT_ATTEMPT_MS);
    await first;
    await second;
    const ended = bench.network.connections.map(([near]) => near.reason?.code);
    assert.deepEqual(ended.at(-1), undefined);
    assert.ok(ended.slice(0, -1).every((code) => code === 0x100));
  });

  test('is waited for by each flow for its own time', async () => {
    const bench = new Bench();
    const client = bench.client();
    using early = new Deadline(bench.clock, DIAL_MS, 'the dial');
    const first = assert.rejects(
      client.connect(echo, { signal: early.signal }),
      failure('timed_out', `hy.example:443: the dial took longer than 10 s; ${SILENT}`),
    );
    await settle();
    for (let second = 0; second < 6; second++) bench.clock.advance(1000);
    using late = new Deadline(bench.clock, DIAL_MS, 'the dial');
    const joined = client.connect(echo, { signal: late.signal });
    await settle();
    for (let second = 0; second < 5; second++) bench.clock.advance(1000);
    await first;
    await bench.listen();
    for (let second = 0; second < 3; second++) {
      bench.clock.advance(1000);
      await settle();
    }
    await joined;
  });

  test('is tried a few times at once, and not beside an attempt that hears something', async () => {
    const bench = new Bench();
    const flow = bench.client().connect(echo, patient);
    const rejected = assert.rejects(flow, /took longer/);
    let most = 0;
    for (let ms = 0; ms < DIAL_MS; ms += SILENT_ATTEMPT_MS) {
      await settle();
      const open = bench.network.connections.filter(([near]) => near.reason === undefined);
      most = Math.max(most, open.length);
      bench.clock.advance(SILENT_ATTEMPT_MS);
    }
    await rejected;
    assert.equal(most, ATTEMPTS_AT_ONCE);
    assert.equal(bench.network.connections.length, 1 + DIAL_MS / SILENT_ATTEMPT_MS);
    assert.ok(bench.network.connections.every(([near]) => near.reason !== undefined));
    assert.equal(bench.clock.timers, 0);

    const other = new Bench();
    void other
      .client()
      .connect(echo, patient)
      .catch(() => undefined);
    for (let ms = 0; ms < DIAL_MS - SILENT_ATTEMPT_MS; ms += SILENT_ATTEMPT_MS) {
      await settle();
      const [[only]] = other.network.connections as [[FakeConnection, undefined]];
      only.wire.bytesRead += 100;
      other.clock.advance(SILENT_ATTEMPT_MS);
    }
    assert.equal(other.network.connections.length, 1);
  });

  test('outlives the flow that it was begun for', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const hangUp = new AbortController();
    const first = client.connect(echo, { signal: hangUp.signal });
    const second = client.connect(echo, patient);
    hangUp.abort(new Error('the client left'));
    await assert.rejects(first, failure('aborted', 'hy.example:443: the client left'));
    await second;
    assert.equal(bench.network.connections.length, 1);
  });

  test('is made to another address when the first does not respond', async () => {
    const bench = new Bench();
    await bench.listen();
    bench.addresses = ['192.0.2.9', '192.0.2.1'];
    const link = bench.client().connect(echo, patient);
    await settle();
    bench.clock.advance(ATTEMPT_DELAY_MS);
    await link;
    const [silent, chosen] = bench.network.connections.map(([client]) => client);
    assert.equal(silent?.reason?.code, 0x100);
    assert.equal(chosen?.remote.host, '192.0.2.1');
  });

  test('that is refused says so', async () => {
    const bench = new Bench();
    await bench.listen({ maxConnections: 1 });
    await bench.client().connect(echo, patient);
    await assert.rejects(
      bench.client().connect(echo, patient),
      failure('refused', 'hy.example:443: the server refused the connection'),
    );
  });

  test('ends with a goodbye when the outbound is closed', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const link = await client.connect(echo, patient);
    client.close();
    await assert.rejects(link.read(), /was closed/);
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    assert.deepEqual(connection.reason, {
      kind: 'application',
      by: 'self',
      code: 0x100,
      reason: '',
    });
    await settle();
    assert.deepEqual([bench.book.count, bench.clock.timers], [0, 0]);
  });

  test('is not made with a CA file that has no certificates', async () => {
    const bench = new Bench();
    const ca = { file: 'ca.pem', content: 'noise' };
    await assert.rejects(
      bench.client({ ca }).connect(echo, patient),
      failure('failed', 'hysteria2: the CA file contains no certificates'),
    );
    const invalid = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    await assert.rejects(
      bench.client({ ca: { file: 'ca.pem', content: invalid } }).connect(echo, patient),
      /^DialError: hysteria2: the CA file ca\.pem: invalid certificate/,
    );
  });
});

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
      failure('unsupported', 'hy.example:443: the server relays no UDP'),
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
    listener.swap(bench.server({ maxCircuits: 7000 }), bench.book);
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
    listener.swap(bench.server({ credentials, maxCircuits: 3 }), bench.createBook());
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
    assert.equal(bench.book.count, 2);
    await link.write(Buffer.from('the last bytes'));
    await link.closeWrite();
    assert.equal(String(await readAll(link)), 'the last bytes');
    packets.close();
    bench.clock.advance(60_000);
    await settle();
    listener.endIdle?.();
    await listener.closed;
    assert.equal(bench.book.count, 0);
  });

  test('judges a client by the settings of the moment in which it authenticates', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const { http } = await bench.prober();
    const next = bench.createBook();
    listener.swap(bench.server({ credentials: { password: 'changed' } }), next);
    assert.equal((await http.request(authentication())).status, 404);
    const right = authentication({ 'hysteria-auth': 'changed' });
    assert.equal((await http.request(right)).status, AUTHENTICATED);
    assert.deepEqual([bench.book.count, next.count], [0, 1]);
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
    assert.equal(bench.book.count, 1);
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

  test('refuses a request whose address is invalid', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    for (const address of ['echo.example', 'a:b:1', 'echo.example:65536', 'a b:1']) {
      const stream = await connection.openStream('bidirectional');
      await stream.write(encodeTcpRequest(address, new SeededRandom(1)));
      const response = await readTcpResponse(new BoundedReader(stream, READER_LIMIT));
      assert.deepEqual(response, { ok: false, message: 'the address is invalid' });
    }
    assert.deepEqual(bench.dispatcher.streams, []);
  });

  test('takes a payload that comes with its request', async () => {
    const bench = new Bench();
    await bench.listen();
    const { connection, http } = await bench.prober();
    await http.request(authentication());
    const stream = await connection.openStream('bidirectional');
    const request = encodeTcpRequest('echo.example:7', new SeededRandom(1));
    await stream.write(Buffer.concat([request, Buffer.from('early')]));
    await stream.closeWrite();
    const reader = new BoundedReader(stream, READER_LIMIT);
    assert.deepEqual(await readTcpResponse(reader), { ok: true, message: 'Connected' });
    assert.equal(String(await readAll(reader.release())), 'early');
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
    assert.equal(bench.book.count, 1);
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
    assert.equal(bench.dispatcher.open, ASSOCIATIONS_A_CONNECTION);
    const used = bench.dispatcher.associations[0];
    assert.ok(used);
    let isClosed = false;
    void used.client.closed.then(() => (isClosed = true));
    await settle();
    assert.equal(isClosed, false);
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
      for (let id = 0; id < ASSOCIATIONS_A_CONNECTION; id++) connection.sendDatagram(datagram(id));
      await settle();
    }
    assert.equal(bench.dispatcher.open, MOST_ASSOCIATIONS);
    const closed: number[] = [];
    for (const [at, { client }] of bench.dispatcher.associations.slice(0, 10).entries()) {
      void client.closed.then(() => closed.push(at));
    }
    for (let id = 10; id < 20; id++) honest.connection.sendDatagram(datagram(id));
    await settle();
    assert.deepEqual(closed, []);
    assert.equal(bench.dispatcher.open, MOST_ASSOCIATIONS);
  });
});

describe('what a prober sees', () => {
  const get: Http3Request = {
    method: 'GET',
    scheme: 'https',
    authority: 'hy.example',
    path: '/',
    fields: [],
  };

  test('is one response, whatever it requests', async () => {
    const bench = new Bench();
    await bench.listen();
    const { http } = await bench.prober();
    for (const request of [
      get,
      { ...get, method: 'HEAD' },
      { ...get, method: 'DELETE', path: '/auth' },
      { ...get, method: 'POST', authority: 'hysteria', path: '/' },
      { ...authentication(), method: 'GET' },
      { ...authentication(), authority: 'hy.example' },
      authentication({ 'hysteria-auth': 'wrong' }),
      authentication({ 'hysteria-auth': '' }),
    ]) {
      assert.deepEqual(await http.request(request), {
        status: 404,
        fields: [
          { name: 'content-type', value: 'text/plain' },
          { name: 'date', value: 'Thu, 01 Jan 2026 00:00:00 GMT' },
          { name: 'content-length', value: '13' },
        ],
      });
    }
  });

  test('is a final response, also where the status is that of an interim one', async () => {
    for (const [status, interim] of [
      [100, 100],
      [103, 103],
      [199, 199],
      // HTTP/3 does not have it (RFC 9114 §4.5).
      [101, undefined],
    ] as const) {
      const bench = new Bench();
      await bench.listen({ masquerade: { status, body: 'soon\n', contentType: 'text/plain' } });
      const { http } = await bench.prober();
      const response = await http.request(get);
      assert.deepEqual([response.status, fieldOf(response, 'content-length')], [200, '5']);
      const site = new MasqueradeSite({ status, body: '', contentType: 'text/plain' }, bench.clock);
      assert.equal(site.respond().interim, interim);
    }
  });

  test('changes with a reload', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const { http } = await bench.prober();
    const masquerade = { status: 204, body: '', contentType: 'text/html; charset=ütf' };
    listener.swap(bench.server({ masquerade }), bench.book);
    const { status, fields } = await http.request(get);
    assert.equal(status, 204);
    assert.deepEqual(fields[0], {
      name: 'content-type',
      value: Buffer.from('text/html; charset=ütf').toString('latin1'),
    });
    assert.equal(fieldOf({ fields }, 'content-length'), undefined);
  });
});

/** The authentication that the server accepts, with some fields changed. */
function authentication(changes: Readonly<Record<string, string>> = {}): Http3Request {
  const fields = { 'hysteria-auth': PASSWORD, 'hysteria-cc-rx': '0', ...changes };
  return {
    method: 'POST',
    scheme: 'https',
    authority: 'hysteria',
    path: '/auth',
    fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
  };
}

const fieldOf = (
  { fields }: Pick<Http3ResponseHead, 'fields'>,
  wanted: string,
): string | undefined => fields.find(({ name }) => name === wanted)?.value;
