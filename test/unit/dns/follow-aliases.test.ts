import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followAliases, type Resolution } from '../../../src/dns/follow-aliases.ts';
import type { DnsReply } from '../../../src/dns/message.ts';
import type { AnswerRecord } from '../../../src/dns/records.ts';
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
      address('www.example', '192.0.2.1', 60),
      address('www.example', '192.0.2.2', 20),
      address('www.example', '192.0.2.1', 60),
    ]),
    { kind: 'addresses', addresses: ['192.0.2.1', '192.0.2.2'], ttl: 20, aliases: [] },
  );
});

test('aliases are followed in whatever order their records come', () => {
  assert.deepEqual(
    resolve([
      address('c.example', '192.0.2.1', 300),
      alias('b.example', 'c.example', 10),
      alias('www.example', 'b.example', 200),
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
      address('other.example', '192.0.2.66'),
      { owner: 'www.example', type: 'AAAA', data: '2001:db8::1', ttl: 60 },
    ]),
    { kind: 'none', absent: false, ttl: 5, aliases: [] },
  );
});

test('a chain that ends without an address is asked on from its end', () => {
  assert.deepEqual(
    resolve([alias('www.example', 'b.example', 30), alias('b.example', 'c.test', 90)]),
    { kind: 'alias', name: 'c.test', ttl: 30, aliases: ['b.example', 'c.test'] },
  );
});

test('an authority over the end of a chain means that there is no address', () => {
  const records = [alias('www.example', 'b.test', 30)];
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
  assert.deepEqual(resolve([alias('www.example', 'gone.test', 30)], { rcode: 3 }), {
    kind: 'none',
    absent: true,
    ttl: 5,
    aliases: ['gone.test'],
  });
});

test('an absence without an authority holds for 5 s, or as long as the alias that led to it', () => {
  assert.deepEqual(resolve([]), { kind: 'none', absent: false, ttl: 5, aliases: [] });
  assert.deepEqual(resolve([], { rcode: 3 }), { kind: 'none', absent: true, ttl: 5, aliases: [] });
  const records = [alias('www.example', 'gone.test', 2)];
  assert.deepEqual(resolve(records, { rcode: 3 }), {
    kind: 'none',
    absent: true,
    ttl: 2,
    aliases: ['gone.test'],
  });
});

test('aliases in a loop are a named error', () => {
  assert.throws(
    () => resolve([alias('www.example', 'b.example'), alias('b.example', 'www.example')]),
    ProtocolError,
  );
  assert.throws(() => resolve([alias('www.example', 'www.example')]), /loop/);
});

test('a chain of 16 aliases is followed, a longer one is a named error', () => {
  const chain = (length: number): AnswerRecord[] => [
    alias('www.example', 'n1.example'),
    ...Array.from({ length: length - 1 }, (_, i) =>
      alias(`n${i + 1}.example`, `n${i + 2}.example`),
    ),
    address(`n${length}.example`, '192.0.2.1'),
  ];
  assert.equal(resolve(chain(16)).kind, 'addresses');
  assert.throws(() => resolve(chain(17)), ProtocolError);
});
