import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concludeReply, type Conclusion } from '../../../src/dns/conclusion.ts';
import type { AnswerRecord, Reply } from '../../../src/dns/message.ts';
import { ProtocolError } from '../../../src/net/errors.ts';

const address = (owner: string, data: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'A',
  data,
  ttl,
});
const alias = (owner: string, data: string, ttl = 60): AnswerRecord => ({
  owner,
  type: 'CNAME',
  data,
  ttl,
});

function conclude(records: readonly AnswerRecord[], rest: Partial<Reply> = {}): Conclusion {
  const reply: Reply = { rcode: 0, truncated: false, records, authority: undefined, ...rest };
  return concludeReply(reply, { name: 'www.example', type: 'A' });
}

test('addresses of the name are the answer, each once, with the shortest TTL', () => {
  assert.deepEqual(
    conclude([
      address('www.example', '192.0.2.1', 60),
      address('www.example', '192.0.2.2', 20),
      address('www.example', '192.0.2.1', 60),
    ]),
    { kind: 'addresses', addresses: ['192.0.2.1', '192.0.2.2'], ttl: 20 },
  );
});

test('aliases are followed in whatever order their records come', () => {
  assert.deepEqual(
    conclude([
      address('c.example', '192.0.2.1', 300),
      alias('b.example', 'c.example', 10),
      alias('www.example', 'b.example', 200),
    ]),
    { kind: 'addresses', addresses: ['192.0.2.1'], ttl: 10 },
  );
});

test('records about other names and of the other family are not used', () => {
  assert.deepEqual(
    conclude([
      address('other.example', '192.0.2.66'),
      { owner: 'www.example', type: 'AAAA', data: '2001:db8::1', ttl: 60 },
    ]),
    { kind: 'none', absent: false, ttl: 5 },
  );
});

test('a chain that ends without an address is asked on from its end', () => {
  assert.deepEqual(
    conclude([alias('www.example', 'b.example', 30), alias('b.example', 'c.test', 90)]),
    { kind: 'alias', name: 'c.test', ttl: 30 },
  );
});

test('an authority over the end of a chain says that there is no address', () => {
  const records = [alias('www.example', 'b.test', 30)];
  assert.deepEqual(conclude(records, { authority: { zone: 'test', ttl: 20 } }), {
    kind: 'none',
    absent: false,
    ttl: 20,
  });
  assert.deepEqual(conclude(records, { authority: { zone: 'example', ttl: 20 } }), {
    kind: 'alias',
    name: 'b.test',
    ttl: 30,
  });
});

test('a name that does not exist is none, for the time that its authority gives', () => {
  assert.deepEqual(conclude([], { rcode: 3, authority: { zone: 'example', ttl: 20 } }), {
    kind: 'none',
    absent: true,
    ttl: 20,
  });
  assert.deepEqual(conclude([], { rcode: 3, authority: { zone: '', ttl: 20 } }), {
    kind: 'none',
    absent: true,
    ttl: 20,
  });
});

test('the end of a chain that does not exist is not asked for', () => {
  assert.deepEqual(conclude([alias('www.example', 'gone.test', 30)], { rcode: 3 }), {
    kind: 'none',
    absent: true,
    ttl: 5,
  });
});

test('an absence without an authority holds for 5 s, or as long as the alias that led to it', () => {
  assert.deepEqual(conclude([]), { kind: 'none', absent: false, ttl: 5 });
  assert.deepEqual(conclude([], { rcode: 3 }), { kind: 'none', absent: true, ttl: 5 });
  const records = [alias('www.example', 'gone.test', 2)];
  assert.deepEqual(conclude(records, { rcode: 3 }), { kind: 'none', absent: true, ttl: 2 });
});

test('aliases in a circle are a named error', () => {
  assert.throws(
    () => conclude([alias('www.example', 'b.example'), alias('b.example', 'www.example')]),
    ProtocolError,
  );
  assert.throws(() => conclude([alias('www.example', 'www.example')]), /circle/);
});

test('a chain of 16 aliases is followed, a longer one is a named error', () => {
  const chain = (length: number): AnswerRecord[] => [
    alias('www.example', 'n1.example'),
    ...Array.from({ length: length - 1 }, (_, i) =>
      alias(`n${i + 1}.example`, `n${i + 2}.example`),
    ),
    address(`n${length}.example`, '192.0.2.1'),
  ];
  assert.equal(conclude(chain(16)).kind, 'addresses');
  assert.throws(() => conclude(chain(17)), ProtocolError);
});
