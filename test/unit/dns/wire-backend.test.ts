import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DnsExchange } from '../../../src/dns/exchanges/exchange.ts';
import type { Question, DnsReply } from '../../../src/dns/message.ts';
import type { AnswerRecord } from '../../../src/dns/records.ts';
import { WireBackend } from '../../../src/dns/wire-backend.ts';
import type { Logger } from '../../../src/log/logger.ts';
import { DialError } from '../../../src/net/errors.ts';
import { silentLogger } from '../../../src/log/output.ts';

const never = new AbortController().signal;

const alias = (owner: string, data: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'CNAME',
  data,
  ttl,
});
const address = (owner: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'A',
  data: '192.0.2.1',
  ttl,
});
const replyOf = (...records: AnswerRecord[]): DnsReply => ({
  message: Buffer.alloc(0),
  rcode: 0,
  truncated: false,
  records,
  authority: undefined,
});

/** A backend over a function that answers, the names that it asked, and its log. */
function harness(answer: (question: Question) => DnsReply) {
  const asked: string[] = [];
  const lines: string[] = [];
  const exchange: DnsExchange = {
    server: '192.0.2.53:53',
    ask: async (question) => {
      assert.ok('name' in question);
      asked.push(question.name);
      return answer(question);
    },
    close: () => undefined,
  };
  const log: Logger = {
    ...silentLogger,
    warn: (message) => lines.push(`warn ${String(message)}`),
    info: (message) => lines.push(`info ${String(message)}`),
  };
  return { asked, lines, backend: new WireBackend(exchange, log) };
}

test('an alias that the answer leaves open is asked for, and the shortest TTL holds', async () => {
  const { asked, backend } = harness(({ name }) =>
    name === 'www.example'
      ? replyOf(alias('www.example', 'cdn.test', 30))
      : replyOf(alias('cdn.test', 'node.cdn.test', 10), address('node.cdn.test', 90)),
  );
  assert.deepEqual(await backend.query('www.example', 'A', never), {
    addresses: ['192.0.2.1'],
    ttl: 10,
    aliases: ['cdn.test', 'node.cdn.test'],
  });
  assert.deepEqual(asked, ['www.example', 'cdn.test']);
});

test('aliases that form a loop over several replies are a named error', async () => {
  const { asked, backend } = harness(({ name }) =>
    replyOf(alias(name, name === 'a.example' ? 'b.example' : 'a.example')),
  );
  await assert.rejects(backend.query('a.example', 'A', never), {
    code: 'upstream',
    message: 'DNS server 192.0.2.53:53: the aliases of a.example form a loop',
  });
  assert.deepEqual(asked, ['a.example', 'b.example']);
});

test('aliases without end are given up after eight questions', async () => {
  const { asked, backend } = harness(({ name }) => replyOf(alias(name, `x${name}`)));
  await assert.rejects(backend.query('a.example', 'A', never), { code: 'upstream' });
  assert.equal(asked.length, 8);
});

test('an alias of what is not a host name has no address', async () => {
  const { asked, backend } = harness(({ name }) => replyOf(alias(name, 'not a name', 30)));
  assert.deepEqual(await backend.query('a.example', 'A', never), {
    addresses: [],
    ttl: 30,
    aliases: ['not a name'],
  });
  assert.equal(asked.length, 1);
});

test('a failure that the server reports has the name of its code, and is not an absent name', async () => {
  for (const [rcode, name] of [
    [2, 'SERVFAIL'],
    [5, 'REFUSED'],
    [23, 'code 23'],
  ] as const) {
    const { lines, backend } = harness(() => ({ ...replyOf(), rcode }));
    await assert.rejects(backend.query('a.example', 'A', never), {
      code: 'upstream',
      message: `DNS server 192.0.2.53:53: responded with ${name}`,
    });
    assert.deepEqual(lines, []);
  }
});

test('a truncated answer is a failure, not an absent name', async () => {
  const { backend } = harness(() => ({ ...replyOf(), truncated: true }));
  await assert.rejects(backend.query('a.example', 'A', never), {
    code: 'upstream',
    message: 'DNS server 192.0.2.53:53: the answer for a.example is truncated',
  });
});

test('a server that stops responding is logged once, and once when it responds again', async () => {
  let dead = true;
  const { lines, backend } = harness(({ name }) => {
    if (dead) throw new DialError('timed_out', 'DNS server 192.0.2.53:53: no answer');
    return replyOf(address(name));
  });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(backend.query('a.example', 'A', never), { code: 'timed_out' });
  }
  dead = false;
  for (let i = 0; i < 3; i++) await backend.query('a.example', 'A', never);
  assert.deepEqual(lines, [
    'warn DNS server 192.0.2.53:53: no answer',
    'info DNS server 192.0.2.53:53 responds again',
  ]);
});

test('an aborted question does not count as a failure of the server', async () => {
  const { lines, backend } = harness(() => {
    throw new DialError('aborted', 'gone');
  });
  await assert.rejects(backend.query('a.example', 'A', never), { code: 'aborted' });
  assert.deepEqual(lines, []);
});
