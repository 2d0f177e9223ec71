import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DnsExchange } from '../../../src/dns/exchanges/exchange.ts';
import type { Question, DnsReply } from '../../../src/dns/message.ts';
import type { AnswerRecord } from '../../../src/dns/records.ts';
import { WireBackend, followAliases, type Resolution } from '../../../src/dns/wire-backend.ts';
import { type Logger, silentLogger } from '@weir/base/log';
import { DialError, ProtocolError } from '@weir/io';

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

const addressRecord = (owner: string, data: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'A',
  data,
  ttl,
});
const aliasRecord = (owner: string, data: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'CNAME',
  data,
  ttl,
});

function resolve(records: readonly AnswerRecord[], rest: Partial<DnsReply> = {}): Resolution {
  const message = Buffer.alloc(0);
  const reply: DnsReply = {
    message,
    rcode: 0,
    truncated: false,
    records,
    authority: undefined,
    ...rest,
  };
  return followAliases(reply, { name: 'www.example', type: 'A' });
}

test('addresses of the name are the answer, each once, with the shortest TTL', () => {
  assert.deepEqual(
    resolve([
      addressRecord('www.example', '192.0.2.1', 60),
      addressRecord('www.example', '192.0.2.2', 20),
      addressRecord('www.example', '192.0.2.1', 60),
    ]),
    { kind: 'addresses', addresses: ['192.0.2.1', '192.0.2.2'], ttl: 20, aliases: [] },
  );
});

test('aliases are followed in whatever order their records come', () => {
  assert.deepEqual(
    resolve([
      addressRecord('c.example', '192.0.2.1', 300),
      aliasRecord('b.example', 'c.example', 10),
      aliasRecord('www.example', 'b.example', 200),
    ]),
    {
      kind: 'addresses',
      addresses: ['192.0.2.1'],
      ttl: 10,
      aliases: ['b.example', 'c.example'],
    },
  );
});

test('records about other names and of the other family are not used', () => {
  assert.deepEqual(
    resolve([
      addressRecord('other.example', '192.0.2.66'),
      { owner: 'www.example', type: 'AAAA', data: '2001:db8::1', ttl: 60 },
    ]),
    { kind: 'none', absent: false, ttl: 5, aliases: [] },
  );
});

test('a chain that ends without an address is asked on from its end', () => {
  assert.deepEqual(
    resolve([aliasRecord('www.example', 'b.example', 30), aliasRecord('b.example', 'c.test', 90)]),
    { kind: 'alias', name: 'c.test', ttl: 30, aliases: ['b.example', 'c.test'] },
  );
});

test('an authority over the end of a chain means that there is no address', () => {
  const records = [aliasRecord('www.example', 'b.test', 30)];
  assert.deepEqual(resolve(records, { authority: { zone: 'test', ttl: 20 } }), {
    kind: 'none',
    absent: false,
    ttl: 20,
    aliases: ['b.test'],
  });
  assert.deepEqual(resolve(records, { authority: { zone: 'example', ttl: 20 } }), {
    kind: 'alias',
    name: 'b.test',
    ttl: 30,
    aliases: ['b.test'],
  });
});

test('a name that does not exist has no address, for the TTL of its authority', () => {
  assert.deepEqual(resolve([], { rcode: 3, authority: { zone: 'example', ttl: 20 } }), {
    kind: 'none',
    absent: true,
    ttl: 20,
    aliases: [],
  });
  for (const zone of ['', 'www.example']) {
    assert.deepEqual(resolve([], { rcode: 3, authority: { zone, ttl: 20 } }), {
      kind: 'none',
      absent: true,
      ttl: 20,
      aliases: [],
    });
  }
});

test('the end of a chain that does not exist is not asked for', () => {
  assert.deepEqual(resolve([aliasRecord('www.example', 'gone.test', 30)], { rcode: 3 }), {
    kind: 'none',
    absent: true,
    ttl: 5,
    aliases: ['gone.test'],
  });
});

test('an absence without an authority holds for 5 s, or as long as the alias that led to it', () => {
  assert.deepEqual(resolve([]), { kind: 'none', absent: false, ttl: 5, aliases: [] });
  assert.deepEqual(resolve([], { rcode: 3 }), { kind: 'none', absent: true, ttl: 5, aliases: [] });
  const records = [aliasRecord('www.example', 'gone.test', 2)];
  assert.deepEqual(resolve(records, { rcode: 3 }), {
    kind: 'none',
    absent: true,
    ttl: 2,
    aliases: ['gone.test'],
  });
});

test('aliases in a loop are a named error', () => {
  assert.throws(
    () =>
      resolve([aliasRecord('www.example', 'b.example'), aliasRecord('b.example', 'www.example')]),
    ProtocolError,
  );
  assert.throws(() => resolve([aliasRecord('www.example', 'www.example')]), /loop/);
});

test('a chain of 16 aliases is followed, a longer one is a named error', () => {
  const chain = (length: number): AnswerRecord[] => [
    aliasRecord('www.example', 'n1.example'),
    ...Array.from({ length: length - 1 }, (_, i) =>
      aliasRecord(`n${i + 1}.example`, `n${i + 2}.example`),
    ),
    addressRecord(`n${length}.example`, '192.0.2.1'),
  ];
  assert.equal(resolve(chain(16)).kind, 'addresses');
  assert.throws(() => resolve(chain(17)), ProtocolError);
});
