import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { UnitCost } from '@weir/io/bounds';
import { linkPair } from '@weir/io/links';
import { GRANT_UNITS, GRANTS_A_TURN } from '../../../../../io/src/net/bounds/units.ts';
import { frame, FramedMessageReader } from '../../../../src/dns/exchanges/exchange.ts';
import { StreamConnection, TlsExchange } from '../../../../src/dns/exchanges/tls-exchange.ts';
import {
  a,
  reply,
  startTlsDns,
  type Asked,
  type Script,
} from '../../../../../../test/support/peers/dns-server.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { good, keptConnectionSuite, never, question } from './kept-connection-suite.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.test'], ip: ['192.0.2.53'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };

async function harness(t: TestContext, script: Script, serverName = 'dns.test') {
  const server = await startTlsDns(t, certificate, script);
  const clock = new ManualClock();
  const exchange = new TlsExchange({ server, serverName, ca, clock });
  t.after(() => exchange.close());
  return { server, clock, exchange };
}

keptConnectionSuite('TLS', harness);

test('questions asked before the connection stands wait for the same one', async (t) => {
  const { server, exchange } = await harness(t, good);
  await Promise.all(['a.example', 'b.example'].map((name) => exchange.ask(question(name), never)));
  assert.equal(server.connections, 1);
});

test('answers are matched in whatever order they come', async (t) => {
  const held: { asked: Asked; send: (message: Buffer) => void }[] = [];
  const { exchange } = await harness(t, (asked) => {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    held.push({ asked, send: resolve });
    if (held.length === 3) {
      for (const each of held.toReversed()) each.send(good(each.asked));
    }
    return promise;
  });
  const names = ['a.example', 'b.example', 'c.example'];
  const found = await Promise.all(names.map((name) => exchange.ask(question(name), never)));
  assert.deepEqual(
    found.map(({ records }) => records[0]?.owner),
    names,
  );
});

test('replies without a pending question are ignored', async (t) => {
  const { exchange } = await harness(t, (asked) => [
    Buffer.alloc(0),
    Buffer.from('noise'),
    reply(asked, { id: asked.id ^ 0x100, answers: [a(asked.name, '192.0.2.66')] }),
    reply(asked, { name: 'evil.example', answers: [a('evil.example', '192.0.2.66')] }),
    good(asked),
  ]);
  const found = await exchange.ask(question('a.example'), never);
  assert.equal(found.records[0]?.data, '192.0.2.1');
});

test('messages that reply to nothing are read in turns, between which others go on', async () => {
  const [link, server] = linkPair();
  const connection = new StreamConnection(link, new ManualClock(), () => undefined);
  let isOver = false;
  const asked = connection.ask(question('a.example'), never).finally(() => (isOver = true));
  const answer = await new FramedMessageReader(server).next();
  answer[2] = 0x81;
  // Each is a length of zero.
  const messages = 20_000;
  server.write(new Uint8Array(2 * messages))?.catch(() => undefined);
  server.write(frame(answer))?.catch(() => undefined);
  let turns = 0;
  for (; !isOver; turns++) await settled();
  assert.equal((await asked).rcode, 0);
  const least = (messages * UnitCost.datagram) / (GRANTS_A_TURN * GRANT_UNITS);
  assert.ok(turns >= least, `${turns} turns`);
  connection.end();
});

test('a server that sends only messages that reply to nothing is dead', async () => {
  const [link, server] = linkPair();
  const clock = new ManualClock();
  const connection = new StreamConnection(link, clock, () => undefined);
  const asked = connection.ask(question('a.example'), never);
  const isLost = assert.rejects(asked, {
    code: 'connection_lost',
    message: 'sent 2 messages, but no reply to a question',
  });
  const query = await new FramedMessageReader(server).next();
  for (const garbage of [query, Buffer.from('garbage')]) {
    server.write(frame(garbage))?.catch(() => undefined);
    await settled();
    clock.advance(2000);
  }
  await isLost;
  await assert.rejects(connection.ask(question('b.example'), never));
  assert.equal(clock.timers, 0);
});

test('a late reply to a question of before is not what a silent server has sent', async () => {
  const [link, server] = linkPair();
  const clock = new ManualClock();
  const connection = new StreamConnection(link, clock, () => undefined);
  const abandoned = new AbortController();
  const former = connection.ask(question('a.example'), abandoned.signal);
  const query = await new FramedMessageReader(server).next();
  abandoned.abort();
  await assert.rejects(former);
  server.write(frame(query))?.catch(() => undefined);
  await settled();
  const isLost = assert.rejects(connection.ask(question('b.example'), never), {
    message: 'no answer',
  });
  clock.advance(4000);
  await isLost;
});

test('a server behind TLS that rejects EDNS is asked without it', async (t) => {
  const { server, exchange } = await harness(t, (asked) => {
    if (asked.payloadSize === undefined) return good(asked);
    const header = Buffer.alloc(12);
    header.writeUInt16BE(asked.id, 0);
    header.writeUInt16BE(0x8181, 2);
    return header;
  });
  assert.equal((await exchange.ask(question('a.example'), never)).records.length, 1);
  assert.equal(server.connections, 1);
  assert.equal(server.asked.length, 2);
});

test('a malformed answer fails its question alone', async (t) => {
  const { server, exchange } = await harness(t, (asked) =>
    asked.name === 'bad.example' ? good(asked).subarray(0, -1) : good(asked),
  );
  await assert.rejects(exchange.ask(question('bad.example'), never), {
    code: 'upstream',
    message: `DNS server 127.0.0.1:${server.port}: the DNS answer is truncated`,
  });
  await exchange.ask(question('a.example'), never);
  assert.equal(server.connections, 1);
});

for (const [bound, questions] of [
  [20, 60],
  [2, 20],
] as const) {
  test(`a server that closes connections after ${bound} queries answers ${questions} questions`, async (t) => {
    const answered = new Map<number, number>();
    const { server, exchange } = await harness(t, (asked) => {
      const before = answered.get(asked.from) ?? 0;
      if (before === bound) server.disconnect(asked.from);
      answered.set(asked.from, before + 1);
      return before < bound ? good(asked) : undefined;
    });
    const names = Array.from({ length: questions }, (_, index) => `n${index}.example`);
    const found = await Promise.all(names.map((name) => exchange.ask(question(name), never)));
    assert.deepEqual(
      found.map(({ records }) => records[0]?.owner),
      names,
    );
    assert.ok(server.asked.length <= 4 * questions);
  });
}

test('one slow answer does not end a connection on which others come', async (t) => {
  const slow = Promise.withResolvers<Buffer>();
  const arrival = Promise.withResolvers<void>();
  let late: Asked | undefined;
  const { server, clock, exchange } = await harness(t, (asked) => {
    if (asked.name !== 'slow.example') return good(asked);
    late = asked;
    arrival.resolve();
    return slow.promise;
  });
  const waiting = exchange.ask(question('slow.example'), never);
  await arrival.promise;
  for (let i = 0; i < 3; i++) {
    await exchange.ask(question(`n${i}.example`), never);
    clock.advance(4000);
  }
  assert.ok(late);
  slow.resolve(good(late));
  assert.equal((await waiting).records.length, 1);
  assert.equal(server.connections, 1);
});

test('an abort ends one question and leaves the connection to the others', async (t) => {
  const arrival = Promise.withResolvers<void>();
  const { server, exchange } = await harness(t, (asked) => {
    if (asked.name !== 'slow.example') return good(asked);
    arrival.resolve();
    return undefined;
  });
  const controller = new AbortController();
  const waiting = exchange.ask(question('slow.example'), controller.signal);
  await arrival.promise;
  controller.abort(new Error('gone'));
  await assert.rejects(waiting, { code: 'aborted' });
  await exchange.ask(question('a.example'), never);
  assert.equal(server.connections, 1);
});

test('a certificate for another name is refused', async (t) => {
  const { server, exchange } = await harness(t, good, 'other.test');
  await assert.rejects(exchange.ask(question('a.example'), never), {
    code: 'upstream',
    message: /^DNS server 127\.0\.0\.1:\d+: .*does not match.*other\.test/,
  });
  assert.equal(server.asked.length, 0);
});

test('a server name that is an address is verified as one, not the address that is dialled', async (t) => {
  const { exchange } = await harness(t, good, '192.0.2.53');
  assert.equal((await exchange.ask(question('a.example'), never)).records.length, 1);
  const { exchange: dialled } = await harness(t, good, '127.0.0.1');
  await assert.rejects(dialled.ask(question('a.example'), never), { code: 'upstream' });
});

test('a certificate of an unknown authority, and one that ran out, are refused', async (t) => {
  const untrusted = new TestAuthority('untrusted').issue({ dns: ['dns.test'] });
  const expired = authority.issue({ dns: ['dns.test'], expired: true });
  for (const [each, reason] of [
    [untrusted, /unable to verify|self-signed|issuer/i],
    [expired, /expired/],
  ] as const) {
    const server = await startTlsDns(t, each, good);
    const clock = new ManualClock();
    const exchange = new TlsExchange({ server, serverName: 'dns.test', ca, clock });
    await assert.rejects(exchange.ask(question('a.example'), never), {
      code: 'upstream',
      message: reason,
    });
    assert.equal(server.asked.length, 0);
    assert.equal(clock.timers, 0);
  }
});

test('NODE_TLS_REJECT_UNAUTHORIZED does not turn verification off', async (t) => {
  const { exchange } = await harness(t, good, 'other.test');
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  });
  await assert.rejects(exchange.ask(question('a.example'), never), { code: 'upstream' });
});

test('a server that accepts and stays silent does not hold a question for ever', async (t) => {
  const accepted = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    accepted.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const clock = new ManualClock();
  const exchange = new TlsExchange({
    server: { host: '127.0.0.1', port },
    serverName: 'dns.test',
    ca,
    clock,
  });
  const failed = assert.rejects(exchange.ask(question('a.example'), never), { code: 'timed_out' });
  await accepted.promise;
  clock.advance(5000);
  await failed;
  assert.equal(clock.timers, 0);
});

test('a dead server is reported at once, and asked again by the next question', async (t) => {
  const { server, clock } = await harness(t, good);
  const dead = new TlsExchange({
    server: { host: '127.0.0.2', port: server.port },
    serverName: 'dns.test',
    ca,
    clock,
  });
  for (let i = 0; i < 2; i++) {
    await assert.rejects(dead.ask(question('a.example'), never), {
      code: 'upstream',
      message: /connection refused/,
    });
  }
});
