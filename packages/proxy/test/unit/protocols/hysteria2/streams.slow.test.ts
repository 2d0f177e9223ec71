import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deadline, DIAL_MS } from '@weir/io/time';
import { DialError } from '@weir/io';
import { failureLine, FORGERY } from '../../../../../../test/support/data/harmless-output.ts';
import { readAll } from '../../../../../../test/support/read-link.ts';
import { FLOWS_RESUMED_A_TURN } from '../../../../../io/src/net/time/turns.ts';
import { settle } from '../../../../../../test/support/settle.ts';
import {
  Bench,
  echo,
  patient,
} from '../../../../../../test/support/protocols/hysteria2/harness.ts';
import { dialError } from '../../../../../../test/support/protocols/dial-error.ts';

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

  test('begins in a later turn of the event loop when many begin at once', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    await client.connect(echo, patient);
    await settle();
    const COUNT = 4 * FLOWS_RESUMED_A_TURN;
    const links = Array.from({ length: COUNT }, () => client.connect(echo, patient));
    const { streams } = bench.dispatcher;
    let most = 0;
    for (let before = 1; streams.length <= COUNT;) {
      await settle(1);
      most = Math.max(most, streams.length - before);
      before = streams.length;
    }
    assert.ok(most <= FLOWS_RESUMED_A_TURN, `${most} in one turn`);
    await Promise.all(links);
  });

  test('fails with the reason of the server', async () => {
    const bench = new Bench();
    await bench.listen();
    bench.dispatcher.failure = new DialError('refused', 'echo.example:7: connection\nrefused');
    await assert.rejects(
      bench.client().connect(echo, patient),
      dialError('upstream', 'hy.example:443: echo.example:7: connection refused'),
    );
    await settle();
    assert.equal(bench.registry.count, 1, 'the connection lives on');
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
    await assert.rejects(bench.client().connect(echo, patient), dialError('upstream', reason));
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

  test('has a connection of its own for each chain', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    const origin = (hops: number) => ({
      inbound: 'socks',
      source: '127.0.0.1',
      session: { chain: { hops, foreign: false } },
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
    const refused = dialError('failed', 'connection is at its concurrent-stream limit');
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
      dialError('timed_out', 'hy.example:443: the server allows no more streams at once'),
    );
  });

  test('takes a host with an IPv6 address in brackets', async () => {
    const bench = new Bench();
    await bench.listen();
    await bench.client().connect({ host: '2001:db8::1', port: 443 }, patient);
    const [request] = bench.dispatcher.streams;
    assert.deepEqual(request?.destination, { host: '2001:db8::1', port: 443 });
  });

  /** A dial whose server responds when it is told to; it acknowledges at once. */
  async function late(failure?: Error) {
    const bench = new Bench();
    await bench.listen();
    await (await bench.client().connect(echo, patient)).closeWrite();
    const client = bench.client();
    await client.connect(echo, patient);
    const gate = Promise.withResolvers<void>();
    const { dispatcher } = bench;
    const serve = dispatcher.stream.bind(dispatcher);
    dispatcher.stream = async (request) => {
      await gate.promise;
      dispatcher.failure = failure;
      return serve(request);
    };
    const dial = client.connect(echo, patient);
    await settle();
    const near = bench.network.connections.at(-1)?.[0];
    assert.ok(near);
    near.wire.bytesRead++;
    return { bench, dial, respond: gate.resolve };
  }

  test('begins after a second without a response, which its server sends with the first data', async () => {
    const { bench, dial, respond } = await late();
    let isOpen = false;
    void dial.then(() => (isOpen = true));
    bench.clock.advance(999);
    await settle();
    assert.equal(isOpen, false);
    bench.clock.advance(1);
    const link = await dial;
    await link.write(Buffer.from('GET /'));
    await link.closeWrite();
    const received = readAll(link);
    await settle();
    respond();
    assert.equal(String(await received), 'GET /');
  });

  test('fails with the reason of the server, also when that comes later', async () => {
    const reason = 'echo.example:7: connection refused';
    const { bench, dial, respond } = await late(new DialError('refused', reason));
    bench.clock.advance(1_000);
    const link = await dial;
    const reading = link.read();
    respond();
    const expected = dialError('upstream', `hy.example:443: ${reason}`);
    await assert.rejects(reading, expected);
    const cause = await link.closed;
    assert.match(String(cause), /echo\.example:7: connection refused/);
  });

  test('refuses a second read while the response is outstanding, and ends when it is destroyed', async () => {
    const { bench, dial } = await late();
    bench.clock.advance(1_000);
    const link = await dial;
    const reading = link.read();
    await assert.rejects(link.read(), /already pending/);
    link.destroy(new Error('killed'));
    await assert.rejects(reading);
  });

  test('is not begun while the server does not even acknowledge', async () => {
    const bench = new Bench();
    await bench.listen();
    const client = bench.client();
    await client.connect(echo, patient);
    bench.dispatcher.stream = () => new Promise(() => undefined);
    let isOpen = false;
    void client.connect(echo, patient).then(
      () => (isOpen = true),
      () => undefined,
    );
    await settle();
    bench.clock.advance(2_999);
    await settle();
    assert.equal(isOpen, false);
  });
});
