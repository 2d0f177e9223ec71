import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deadline } from '@weir/io/time';
import { ATTEMPT_DELAY_MS } from '../../../../../io/src/net/sockets/happy-eyeballs.ts';
import { ATTEMPTS_AT_ONCE } from '../../../../../io/src/net/sockets/repeated-dial.ts';
import { DIAL_MS, SILENT_ATTEMPT_MS } from '../../../../../io/src/net/time/clock.ts';
import { FLOWS_RESUMED_A_TURN } from '../../../../../io/src/net/time/turns.ts';
import { SILENCE_MS } from '../../../../src/protocols/hysteria2/limits.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import type { FakeConnection } from '../../../../../../test/support/protocols/hysteria2/fake-quic.ts';
import {
  Bench,
  echo,
  patient,
} from '../../../../../../test/support/protocols/hysteria2/harness.ts';
import { dialError } from '../../../../../../test/support/protocols/dial-error.ts';

/** What a failure adds where not a packet has come back. */
const SILENT =
  'nothing came back from the server: no obfs is set here, and a server with obfs stays silent like this; or it does not run there, or a firewall drops UDP';

describe('a connection of a client', () => {
  test('fails for all flows that wait for it with a wrong password', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client({ password: 'wrong' });
    const expected = dialError(
      'upstream',
      'hy.example:443: the server rejected the password (HTTP status 404)',
    );
    const flows = [client.connect(echo, patient), client.associate(patient)];
    await Promise.all(flows.map((flow) => assert.rejects(flow, expected)));
    assert.equal(bench.network.connections.length, 1);
    assert.equal(bench.registry.count, 0);
    const [connection] = bench.network.connections[0] as [FakeConnection, unknown];
    assert.equal(connection.reason?.code, 0x100);
  });

  test('fails in turns for many flows', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client({ password: 'wrong' });
    const COUNT = 4 * FLOWS_RESUMED_A_TURN;
    let failed = 0;
    for (let flow = 0; flow < COUNT; flow++) client.connect(echo, patient).catch(() => failed++);
    let turns = 0;
    for (; failed < COUNT; turns += Number(failed > 0)) await new Promise(setImmediate);
    assert.ok(turns >= COUNT / FLOWS_RESUMED_A_TURN - 2, `${turns} turns`);
    assert.equal(bench.network.connections.length, 1);
  });

  test('is made anew for associations whose turn comes when it has ended', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const COUNT = 2 * FLOWS_RESUMED_A_TURN;
    const flows = Array.from({ length: COUNT }, () => client.associate(patient));
    await flows[0];
    const [[connection]] = bench.network.connections as [[FakeConnection, FakeConnection]];
    connection.end({ kind: 'idle', by: 'self', code: 0, reason: '' });
    const links = await Promise.all(flows);
    assert.equal(bench.network.connections.length, 2);
    links.at(-1)?.send({ data: Buffer.from('hello'), peer: echo });
    assert.equal(links.at(-1)?.dropped, 0);
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
      dialError('timed_out', `hy.example:443: the connection took longer than 10 s; ${SILENT}`),
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
      dialError('timed_out', `hy.example:443: the dial took longer than 10 s; ${SILENT}`),
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
    await assert.rejects(first, dialError('aborted', 'hy.example:443: the client left'));
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
      dialError('refused', 'hy.example:443: the server refused the connection'),
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
    assert.deepEqual([bench.registry.count, bench.clock.timers], [0, 0]);
  });

  test('is not made with a CA file that has no certificates', async () => {
    const bench = new Bench();
    const ca = { file: 'ca.pem', content: 'noise' };
    await assert.rejects(
      bench.client({ ca }).connect(echo, patient),
      dialError('failed', 'hysteria2: the CA file contains no certificates'),
    );
    const invalid = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    await assert.rejects(
      bench.client({ ca: { file: 'ca.pem', content: invalid } }).connect(echo, patient),
      /^DialError: hysteria2: the CA file ca\.pem: invalid certificate/,
    );
  });
});
