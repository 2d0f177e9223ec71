import assert from 'node:assert/strict';
import type { Asked } from '../../../../../../test/support/peers/dns-server.ts';
import { test, type TestContext } from 'node:test';
import type { RandomSource } from '@weir/base/random';
import { systemSockets } from '@weir/io/sockets';
import { QUERIES_A_TURN, UdpExchange } from '../../../../src/dns/exchanges/udp-exchange.ts';
import {
  startPlainDns,
  reply,
  a,
  type Script,
  type TestDnsServer,
} from '../../../../../../test/support/peers/dns-server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const QUESTION = { name: 'example.com', type: 'A' } as const;
const never = new AbortController().signal;

/** A server, an exchange with it, and a way to wait for the n-th question. */
async function harness(t: TestContext, script: Script) {
  const arrivals: PromiseWithResolvers<void>[] = [];
  const arrival = (index: number): PromiseWithResolvers<void> =>
    (arrivals[index] ??= Promise.withResolvers<void>());
  const server: TestDnsServer = await startPlainDns(t, (asked) => {
    arrival(server.asked.length - 1).resolve();
    return script(asked);
  });
  const clock = new ManualClock();
  const exchange = new UdpExchange([server], clock);
  return { server, clock, exchange, arrived: (index: number) => arrival(index).promise };
}

test('every attempt takes its id from the random source, over TCP as well', async (t) => {
  const ids = [0x1234, 0xbeef];
  const random: RandomSource = {
    bytes: (length) => Buffer.alloc(length),
    fill: () => undefined,
    below: (limit) => (limit === 0x1_0000 ? (ids.shift() ?? 0) : 0),
  };
  const server = await startPlainDns(t, (asked) =>
    asked.over === 'udp'
      ? reply(asked, { truncated: true })
      : reply(asked, { answers: [a(asked.name, '192.0.2.1')] }),
  );
  const exchange = new UdpExchange([server], new ManualClock(), { random });
  await exchange.ask(QUESTION, never);
  assert.deepEqual(
    server.asked.map(({ over, id }) => [over, id]),
    [
      ['udp', 0x1234],
      ['tcp', 0xbeef],
    ],
  );
});

test('a question is answered over UDP', async (t) => {
  const { server, clock, exchange } = await harness(t, (asked) =>
    reply(asked, { answers: [a(asked.name, '192.0.2.1')] }),
  );
  const found = await exchange.ask(QUESTION, never);
  assert.deepEqual(found.records, [
    { owner: 'example.com', type: 'A', data: '192.0.2.1', ttl: 60 },
  ]);
  assert.equal(server.asked[0]?.over, 'udp');
  assert.equal(server.asked[0]?.payloadSize, 1232);
  assert.equal(clock.timers, 0);
});

test('a lost packet is sent again with another id from another port', async (t) => {
  let lost = 0;
  const { server, clock, exchange, arrived } = await harness(t, (asked) =>
    lost++ < 2 ? undefined : reply(asked, { answers: [a(asked.name, '192.0.2.1')] }),
  );
  const found = exchange.ask(QUESTION, never);
  await arrived(0);
  clock.advance(1000);
  await arrived(1);
  clock.advance(1999);
  assert.equal(server.asked.length, 2);
  clock.advance(1);
  assert.equal((await found).records.length, 1);
  assert.equal(new Set(server.asked.map(({ id, from }) => `${id} ${from}`)).size, 3);
});

test('a server that never answers is given up after three tries', async (t) => {
  const { server, clock, exchange, arrived } = await harness(t, () => undefined);
  const found = exchange.ask(QUESTION, never);
  const failed = assert.rejects(found, {
    name: 'DialError',
    code: 'timed_out',
    message: `DNS server 127.0.0.1:${server.port}: no answer`,
  });
  for (const [index, limit] of [1000, 2000, 4000].entries()) {
    await arrived(index);
    clock.advance(limit);
  }
  await failed;
  assert.equal(server.asked.length, 3);
  assert.equal(clock.timers, 0);
});

test('answers with another id, name or type, and noise, do not count', async (t) => {
  const { exchange, server } = await harness(t, (asked) => [
    reply(asked, { id: asked.id ^ 1, answers: [a(asked.name, '192.0.2.66')] }),
    reply(asked, { name: 'evil.example', answers: [a('evil.example', '192.0.2.66')] }),
    reply({ ...asked, type: 'AAAA' }, { answers: [a(asked.name, '192.0.2.66')] }),
    Buffer.from('noise'),
    asked.message,
    reply(asked, { answers: [a(asked.name, '192.0.2.1')] }),
  ]);
  const found = await exchange.ask(QUESTION, never);
  assert.equal(found.records[0]?.data, '192.0.2.1');
  assert.equal(server.asked.length, 1);
});

test('a truncated answer is asked for again over TCP', async (t) => {
  const { exchange, server } = await harness(t, (asked) =>
    asked.over === 'udp'
      ? reply(asked, { truncated: true })
      : reply(asked, {
          answers: Array.from({ length: 200 }, (_, i) => a(asked.name, `192.0.2.${i}`)),
        }),
  );
  assert.equal((await exchange.ask(QUESTION, never)).records.length, 200);
  assert.deepEqual(
    server.asked.map(({ over }) => over),
    ['udp', 'tcp'],
  );
});

test('an answer over TCP to another question is a failure', async (t) => {
  const { exchange } = await harness(t, (asked) =>
    asked.over === 'udp'
      ? reply(asked, { truncated: true })
      : reply(asked, { id: asked.id ^ 1, answers: [a(asked.name, '192.0.2.66')] }),
  );
  await assert.rejects(exchange.ask(QUESTION, never), {
    code: 'upstream',
    message: /the answer over TCP is to another question$/,
  });
});

test('a server that does not know EDNS is asked without it', async (t) => {
  const { exchange, server } = await harness(t, (asked) =>
    asked.payloadSize === undefined
      ? reply(asked, { answers: [a(asked.name, '192.0.2.1')] })
      : reply(asked, { rcode: 1 }),
  );
  assert.equal((await exchange.ask(QUESTION, never)).records.length, 1);
  assert.deepEqual(
    server.asked.map(({ payloadSize }) => payloadSize),
    [1232, undefined],
  );
});

/** A header alone, as of a server that could not read the query. */
function bareError(asked: Asked, rcode: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(asked.id, 0);
  header.writeUInt16BE(0x8180 | rcode, 2);
  return header;
}

for (const [rcode, code] of [
  [1, 'FORMERR'],
  [4, 'NOTIMP'],
] as const) {
  test(`a server that responds with ${code} and no question is asked without EDNS at once, also over TCP`, async (t) => {
    const { exchange, server, clock } = await harness(t, (asked) => {
      if (asked.payloadSize !== undefined) return bareError(asked, rcode);
      return reply(
        asked,
        asked.over === 'udp' ? { truncated: true } : { answers: [a(asked.name, '192.0.2.1')] },
      );
    });
    assert.equal((await exchange.ask(QUESTION, never)).records.length, 1);
    assert.deepEqual(
      server.asked.map(({ over, payloadSize }) => `${over} ${payloadSize}`),
      ['udp 1232', 'udp undefined', 'tcp undefined'],
    );
    assert.equal(clock.now(), new ManualClock().now());
  });
}

test('a malformed answer fails its attempt, not the process', async (t) => {
  let first = true;
  const { exchange } = await harness(t, (asked) => {
    const good = reply(asked, { answers: [a(asked.name, '192.0.2.1')] });
    if (!first) return good;
    first = false;
    return good.subarray(0, -2);
  });
  assert.equal((await exchange.ask(QUESTION, never)).records.length, 1);
});

test('a dead server is reported at once, without waiting for a time-out', async (t) => {
  // The server listens on one address of the loopback network only.
  const { server, clock } = await harness(t, () => undefined);
  const dead = new UdpExchange([{ host: '127.0.0.2', port: server.port }], clock);
  await assert.rejects(dead.ask(QUESTION, never), {
    code: 'upstream',
    message: `DNS server 127.0.0.2:${server.port}: connection refused`,
  });
});

test('an address that cannot be dialled is a named error', async () => {
  const exchange = new UdpExchange([{ host: '127.0.0.1', port: 0 }], new ManualClock());
  await assert.rejects(exchange.ask(QUESTION, never), { code: 'upstream' });
});

test('an abort ends the question at once', async (t) => {
  const { clock, exchange, arrived } = await harness(t, () => undefined);
  const controller = new AbortController();
  const found = exchange.ask(QUESTION, controller.signal);
  await arrived(0);
  controller.abort(new Error('gone'));
  await assert.rejects(found, { code: 'aborted' });
  assert.equal(clock.timers, 0);
});

/** Two servers and an exchange with both. */
async function pair(t: TestContext, scripts: readonly [Script, Script], rotate = false) {
  const one = await startPlainDns(t, scripts[0]);
  const two = await startPlainDns(t, scripts[1]);
  const clock = new ManualClock();
  return { one, two, clock, exchange: new UdpExchange([one, two], clock, { rotate }) };
}

const known: Script = (asked) => reply(asked, { answers: [a(asked.name, '192.0.2.1')] });

test('the next server is asked when one does not answer in time', async (t) => {
  const heard = Promise.withResolvers<void>();
  const silent: Script = () => {
    heard.resolve();
    return undefined;
  };
  const { exchange, clock, two } = await pair(t, [silent, known]);
  const found = exchange.ask(QUESTION, never);
  await heard.promise;
  assert.equal(two.asked.length, 0);
  clock.advance(1000);
  assert.equal((await found).records.length, 1);
});

test('a server that did not answer holds up one question and not the next', async (t) => {
  const silent = await harness(t, () => undefined);
  const { server } = await harness(t, known);
  const { clock } = silent;
  const exchange = new UdpExchange([silent.server, server], clock);
  const first = exchange.ask(QUESTION, never);
  await silent.arrived(0);
  clock.advance(1000);
  await first;
  for (const name of ['b.example', 'c.example']) await exchange.ask({ name, type: 'A' }, never);
  assert.deepEqual([silent.server.asked.length, server.asked.length], [1, 3]);
});

test('a question that was given up says nothing about its server', async (t) => {
  const first = await harness(t, (asked) =>
    asked.name === 'a.example' ? undefined : known(asked),
  );
  const { server } = await harness(t, known);
  const exchange = new UdpExchange([first.server, server], first.clock);
  const abort = new AbortController();
  const given = assert.rejects(exchange.ask({ name: 'a.example', type: 'A' }, abort.signal));
  await first.arrived(0);
  abort.abort();
  await given;
  await exchange.ask(QUESTION, never);
  assert.deepEqual([first.server.asked.length, server.asked.length], [2, 0]);
});

test('the next server is asked at once when one cannot answer', async (t) => {
  const { exchange } = await pair(t, [(asked) => reply(asked, { rcode: 2 }), known]);
  assert.equal((await exchange.ask(QUESTION, never)).records.length, 1);
  const both = await pair(t, [
    (asked) => reply(asked, { rcode: 5 }),
    (asked) => reply(asked, { rcode: 2 }),
  ]);
  assert.equal((await both.exchange.ask(QUESTION, never)).rcode, 2);
  assert.equal(both.one.asked.length + both.two.asked.length, 2);
});

test('that a name does not exist is asked of one server only', async (t) => {
  const { exchange, two } = await pair(t, [(asked) => reply(asked, { rcode: 3 }), known]);
  assert.equal((await exchange.ask(QUESTION, never)).rcode, 3);
  assert.equal(two.asked.length, 0);
});

test('questions start with each server in turn when they should', async (t) => {
  const { exchange, one, two } = await pair(t, [known, known], true);
  for (let i = 0; i < 4; i++) await exchange.ask(QUESTION, never);
  assert.deepEqual([one.asked.length, two.asked.length], [2, 2]);
});

test('questions that are asked at once are sent in turns', async (t) => {
  const COUNT = 4 * QUERIES_A_TURN;
  const { exchange } = await harness(t, (asked) => reply(asked, { answers: [] }));
  const { mock } = t.mock.method(systemSockets(), 'bindUdp');
  const all = Array.from({ length: COUNT }, () => exchange.ask(QUESTION, never));
  assert.equal(mock.callCount(), QUERIES_A_TURN);
  await Promise.all(all);
  assert.equal(mock.callCount(), COUNT);
});

test('replies of thousands of records that come at once are read in turns', async (t) => {
  const COUNT = 12;
  const held = Promise.withResolvers<void>();
  const records = Array.from({ length: 1_500 }, (_, i) =>
    a(QUESTION.name, `192.0.${i >> 8}.${i & 255}`),
  );
  const { exchange, arrived } = await harness(t, async (asked) => {
    const message = reply(asked, { answers: records });
    await held.promise;
    return message;
  });
  let over = 0;
  const all = Array.from({ length: COUNT }, async () => {
    const found = await exchange.ask(QUESTION, never);
    assert.equal(found.records.length, records.length);
    over++;
  });
  await arrived(COUNT - 1);
  held.resolve();
  let most = 0;
  for (let before = 0; over < COUNT; before = over) {
    await new Promise(setImmediate);
    most = Math.max(most, over - before);
  }
  await Promise.all(all);
  assert.ok(most <= 2, `${most} in one turn`);
});
