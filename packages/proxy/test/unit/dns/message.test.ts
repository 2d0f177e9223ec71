import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode, type Answer } from 'dns-packet';
import {
  encodeQuery,
  messageId,
  OPT_SIZE,
  putOpt,
  questionEnd,
  readReply,
  type Question,
} from '../../../src/dns/message.ts';
import { ProtocolError } from '@weir/io';
import { a, aaaa, cname, soa } from '../../../../../test/support/peers/dns-server.ts';

const QUESTION: Question = { name: 'www.example.com', type: 'A' };
const QUERY = encodeQuery(QUESTION, { id: 0x1234 });

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

interface Parts {
  readonly answers?: Answer[];
  readonly authorities?: Answer[];
  readonly additionals?: Answer[];
  readonly flags?: number;
}

function response({ flags = 0x8180, ...sections }: Parts): Buffer {
  const questions = [{ name: QUESTION.name, type: QUESTION.type, class: 'IN' as const }];
  return encode({ ...sections, type: 'response', id: 0x1234, flags, questions });
}

test('a query asks for recursion and takes datagrams of 1232 bytes', () => {
  assert.deepEqual(
    encodeQuery(QUESTION, { id: 0x1234 }),
    hex(`1234 0100 0001 0000 0000 0001
         03777777 076578616d706c65 03636f6d 00 0001 0001
         00 0029 04d0 00000000 0000`),
  );
});

test('a query for a server from before EDNS has nothing but its question', () => {
  const query = encodeQuery({ name: 'a.example', type: 'AAAA' }, { id: 7, edns: false });
  assert.deepEqual(query, hex('0007 0100 0001 0000 0000 0000 0161 076578616d706c65 00 001c 0001'));
});

test('a padded query is a multiple of 128 bytes, however long its name', () => {
  for (let length = 1; length <= 63; length++) {
    const name = `${'a'.repeat(length)}.${'b'.repeat(40)}.example`;
    const query = encodeQuery({ name, type: 'A' }, { id: 1, padded: true });
    assert.equal(query.length % 128, 0);
    assert.equal(decode(query).questions?.[0]?.name, name);
  }
});

test('the padding of a query is an option of zeros up to its end', () => {
  const query = encodeQuery(QUESTION, { id: 1, padded: true });
  const opt = `00 0029 04d0 00000000 0054 000c 0050 ${'00'.repeat(80)}`;
  assert.deepEqual(query.subarray(33), hex(opt));
});

test('an OPT record overwrites what was in its place, and nothing else', () => {
  for (const [padding, written] of [
    [0, '00 0029 1000 00000000 0000'],
    [4, '00 0029 1000 00000000 0004 000c 0000'],
    [6, '00 0029 1000 00000000 0006 000c 0002 eeee'],
  ] as const) {
    const message = Buffer.alloc(3 + OPT_SIZE + padding + 2, 0xee);
    putOpt(message, 3, 4096, padding);
    assert.deepEqual(message, hex(`eeeeee ${written} eeee`));
  }
});

test('a reply has its addresses and aliases, in lower case and canonical form', () => {
  const reply = readReply(
    response({
      answers: [
        cname('WWW.Example.com', 'Host.Example.NET', 30),
        a('HOST.example.net', '192.0.2.1', 60),
        aaaa('host.example.net', '2001:db8:0:0:0:0:0:1', 90),
        { name: 'host.example.net', type: 'TXT', ttl: 5, data: 'ignored' },
      ],
    }),
    QUERY,
  );
  assert.equal(reply?.rcode, 0);
  assert.equal(reply.truncated, false);
  assert.equal(reply.authority, undefined);
  assert.deepEqual(reply.records, [
    { owner: 'www.example.com', type: 'CNAME', data: 'host.example.net', ttl: 30 },
    { owner: 'host.example.net', type: 'A', data: '192.0.2.1', ttl: 60 },
    { owner: 'host.example.net', type: 'AAAA', data: '2001:db8::1', ttl: 90 },
  ]);
});

test('a reply with compressed names is read', () => {
  // Put together by hand after RFC 1035 §4.1.4: an alias and its address.
  const reply = readReply(
    hex(`1234 8580 0001 0002 0000 0001
         03777777 076578616d706c65 03636f6d 00 0001 0001
         c00c 0005 0001 0000012c 0007 04686f7374 c010
         c02d 0001 0001 0000012c 0004 c0000201
         00 0029 04d0 00000000 0000`),
    QUERY,
  );
  assert.deepEqual(reply?.records, [
    { owner: 'www.example.com', type: 'CNAME', data: 'host.example.com', ttl: 300 },
    { owner: 'host.example.com', type: 'A', data: '192.0.2.1', ttl: 300 },
  ]);
});

test('an absence holds as long as the shorter of the two times of its authority', () => {
  const at = (ttl: number, minimum: number): number | undefined =>
    readReply(response({ flags: 0x8183, authorities: [soa('example.com', ttl, minimum)] }), QUERY)
      ?.authority?.ttl;
  assert.equal(at(900, 60), 60);
  assert.equal(at(60, 900), 60);
});

test('an authority is the first SOA record of the Internet, and no other record', () => {
  const of = (...authorities: Answer[]): unknown =>
    readReply(response({ flags: 0x8183, authorities }), QUERY)?.authority;
  const ns: Answer = { name: 'example.com', type: 'NS', ttl: 60, data: 'ns.example.com' };
  const chaos = { ...soa('example.com', 9, 9), class: 'CH' } as Answer;
  assert.equal(of(ns), undefined);
  assert.equal(of(chaos), undefined);
  assert.deepEqual(of(ns, chaos, soa('Example.com', 60, 30)), { zone: 'example.com', ttl: 30 });
  assert.deepEqual(of({ ...soa('example', 60, 30), name: '.' }), { zone: '', ttl: 30 });
});

test('a TTL may have 31 bits', () => {
  const records = [a('www.example.com', '192.0.2.1', 0x7fff_ffff)];
  assert.equal(readReply(response({ answers: records }), QUERY)?.records[0]?.ttl, 0x7fff_ffff);
});

test('a reply with an error has no records, and is not read beyond its question', () => {
  const records = [a('www.example.com', '192.0.2.1')];
  for (const [flags, rcode] of [
    [0x8182, 2],
    [0x8185, 5],
  ] as const) {
    const reply = readReply(response({ flags, answers: records }).subarray(0, -1), QUERY);
    assert.deepEqual([reply?.rcode, reply?.truncated, reply?.records], [rcode, false, []]);
  }
});

test('a name in a reply may have labels of 63 bytes', () => {
  const name = `${'a'.repeat(63)}.${'b'.repeat(63)}.example`;
  const query = encodeQuery({ name, type: 'A' }, { id: 1 });
  const questions = [{ name, type: 'A' as const, class: 'IN' as const }];
  const reply = encode({
    type: 'response',
    id: 1,
    flags: 0x8180,
    questions,
    answers: [cname(name, 'a.example'), a('a.example', '192.0.2.1')],
  });
  assert.deepEqual(
    readReply(reply, query)?.records.map(({ owner }) => owner),
    [name, 'a.example'],
  );
});

test('a TTL with its top bit set counts as 0', () => {
  const reply = readReply(
    response({ answers: [a('www.example.com', '192.0.2.1', 0x8000_0000)] }),
    QUERY,
  );
  assert.equal(reply?.records[0]?.ttl, 0);
});

test('records of another class are not looked at', () => {
  const record: Answer = {
    ...a('www.example.com', '192.0.2.1'),
    type: 'A',
    class: 'CH',
    data: '192.0.2.1',
  };
  assert.deepEqual(readReply(response({ answers: [record] }), QUERY)?.records, []);
});

test('the code of an answer is extended by EDNS', () => {
  const opt: Answer = {
    name: '.',
    type: 'OPT',
    udpPayloadSize: 1232,
    extendedRcode: 1,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  assert.equal(readReply(response({ additionals: [opt] }), QUERY)?.rcode, 16);
  const glue = a('ns.example.com', '192.0.2.1');
  assert.equal(readReply(response({ additionals: [glue, opt, glue] }), QUERY)?.rcode, 16);
});

test('a truncated message is read as such, wherever it ends', () => {
  const whole = response({ flags: 0x8380, answers: [a('www.example.com', '192.0.2.1')] });
  for (let length = 33; length <= whole.length; length++) {
    const reply = readReply(whole.subarray(0, length), QUERY);
    const { message, ...rest } = reply ?? {};
    assert.equal(message?.length, length);
    assert.deepEqual(rest, { rcode: 0, truncated: true, records: [], authority: undefined });
  }
});

test('the question of a reply may be in any case', () => {
  const reply = response({});
  reply.write('WWW', 13, 'latin1');
  assert.equal(readReply(reply, QUERY)?.rcode, 0);
});

const OTHERS: Readonly<Record<string, (message: Buffer) => Buffer>> = {
  'another id': (message) => (message.writeUInt16BE(0x4321, 0), message),
  'another name': (message) => (message.write('wwx', 13, 'latin1'), message),
  'another type': (message) => (message.writeUInt16BE(28, 29), message),
  'another class': (message) => (message.writeUInt16BE(3, 31), message),
  'no question': (message) => (message.writeUInt16BE(0, 4), message.subarray(0, 12)),
  'two questions': (message) => (message.writeUInt16BE(2, 4), message),
  'no response flag': (message) => (message.writeUInt16BE(0x0180, 2), message),
  'a truncated question': (message) => message.subarray(0, 32),
  'another opcode': (message) => {
    message.writeUInt16BE(message.readUInt16BE(2) | (4 << 11), 2);
    return message;
  },
  'a truncated header': (message) => message.subarray(0, 11),
  'nothing at all': () => Buffer.alloc(0),
};

for (const [what, change] of Object.entries(OTHERS)) {
  test(`a message with ${what} is not the reply`, () => {
    assert.equal(readReply(change(response({})), QUERY), undefined);
  });
}

test('an address whose length is not that of its type is a named error', () => {
  for (const length of [0, 3, 5, 16, 65_535]) {
    const message = response({ answers: [a(QUESTION.name, '192.0.2.1', 60)] });
    message.writeUInt16BE(length, message.length - 6);
    const padded = Buffer.concat([message, Buffer.alloc(length < 65_535 ? length : 0)]);
    assert.throws(() => readReply(padded, QUERY), ProtocolError);
  }
});

test('a reply with truncated or looping records is a named error', () => {
  const whole = response({ answers: [a('www.example.com', '192.0.2.1')] });
  assert.throws(() => readReply(whole.subarray(0, -1), QUERY), ProtocolError);
  const loop = Buffer.concat([whole.subarray(0, 33), hex('c021 0001 0001 00000000 0004 c0000201')]);
  assert.throws(() => readReply(loop, QUERY), ProtocolError);
});

test('a record that is truncated anywhere is a named error, in every section', () => {
  const records: Answer[] = [
    a('www.example.com', '192.0.2.1'),
    cname('www.example.com', 'a.example'),
    soa('example.com', 60, 60),
    { name: 'www.example.com', type: 'TXT', ttl: 5, data: 'text' },
  ];
  for (const section of ['answers', 'authorities', 'additionals'] as const) {
    for (const record of records) {
      const whole = response({ [section]: [record] });
      assert.ok(readReply(whole, QUERY));
      for (let length = 33; length < whole.length; length++) {
        assert.throws(() => readReply(whole.subarray(0, length), QUERY), ProtocolError);
      }
    }
  }
});

test('a reply that announces more records than it has is truncated', () => {
  for (const at of [6, 8, 10]) {
    const message = response({});
    message.writeUInt16BE(0xffff, at);
    assert.throws(() => readReply(message, QUERY), /truncated/);
  }
});

test('a reply has as many records as fit a message', () => {
  const record = hex('c00c 0001 0001 0000003c 0004 7f000002');
  const head = response({});
  const count = Math.floor((65_535 - head.length) / record.length);
  const message = Buffer.concat([head, ...Array.from({ length: count }, () => record)]);
  message.writeUInt16BE(count, 6);
  const records = readReply(message, QUERY)?.records;
  assert.equal(records?.length, 4093);
  assert.deepEqual(new Set(records.map(({ owner, data }) => `${owner} ${data}`)).size, 1);
});

test('names that lead through pointers back and back are read within a bound, or are a named error', () => {
  const query = QUERY;
  const chain = (pointers: number): Buffer => {
    const head = response({});
    const hops: Buffer[] = [];
    let target = 12;
    for (let i = 0; i < pointers; i++) {
      const at = head.length + 12 + 2 * i;
      const pointer = Buffer.alloc(2);
      pointer.writeUInt16BE(0xc000 | target);
      hops.push(pointer);
      target = at;
    }
    // The first record holds the chain as opaque data, the second has the end of it as its owner.
    const data = Buffer.concat(hops);
    const first = Buffer.concat([hex('c00c 0010 0001 0000003c'), Buffer.alloc(2), data]);
    first.writeUInt16BE(data.length, 10);
    const owner = Buffer.alloc(2);
    owner.writeUInt16BE(0xc000 | target);
    const second = Buffer.concat([owner, hex('0001 0001 0000003c 0004 c0000201')]);
    const message = Buffer.concat([head, first, second]);
    message.writeUInt16BE(2, 6);
    return message;
  };
  assert.equal(readReply(chain(100), query)?.records[0]?.owner, 'www.example.com');
  for (const pointers of [200, 8000]) {
    assert.throws(() => readReply(chain(pointers), query), ProtocolError);
  }
});

test('data of records that are only passed on are opaque', () => {
  const bytes = hex('0161 076578616d706c65 00 002c 0001');
  const query = encodeQuery({ bytes }, { id: 0x1234 });
  const head = Buffer.concat([hex('1234 8180 0001 0002 0001 0000'), bytes]);
  const message = Buffer.concat([
    head,
    // SSHFP of a type that is not assigned, an address of three bytes, an alias that is none.
    hex('c00c 002c 0001 0000003c 0005 0107aabbcc'),
    hex('c00c 0001 0001 0000003c 0003 c00002'),
    hex('c00c 0005 0001 0000003c 0002 ffff'),
  ]);
  const reply = readReply(message, query);
  assert.deepEqual(reply?.message, message);
  assert.deepEqual(reply.records, []);
});

test('an error without a question is the reply of a server that could not read the query', () => {
  const bare = (id: number, flags: number): Buffer => {
    const header = Buffer.alloc(12);
    header.writeUInt16BE(id, 0);
    header.writeUInt16BE(flags, 2);
    return header;
  };
  for (const rcode of [1, 2, 4, 5]) {
    assert.equal(readReply(bare(0x1234, 0x8180 | rcode), QUERY)?.rcode, rcode);
  }
  for (const other of [bare(0x1234, 0x8180), bare(0x1234, 0x8183), bare(0x4321, 0x8181)]) {
    assert.equal(readReply(other, QUERY), undefined);
  }
  assert.equal(readReply(bare(0x1234, 0x0101), QUERY), undefined);
});

test('a question ends after its type and class, with a name of 255 bytes at most', () => {
  const label = (length: number): string =>
    `${length.toString(16).padStart(2, '0')}${'61'.repeat(length)}`;
  const long = `${label(63).repeat(3)}${label(61)}00`;
  for (const at of [0, 12, 300]) {
    const question = (name: string): Buffer =>
      Buffer.concat([Buffer.alloc(at), hex(name), hex('00010001')]);
    for (const name of ['00', '016100', long]) {
      const whole = question(name);
      assert.equal(questionEnd(whole, at), whole.length);
      assert.equal(questionEnd(Buffer.concat([whole, Buffer.of(1)]), at), whole.length);
      for (let end = at; end < whole.length; end++) {
        assert.equal(questionEnd(whole.subarray(0, end), at), undefined);
      }
    }
    const tooLong = `${label(63).repeat(3)}${label(62)}00`;
    for (const name of [tooLong, 'c00c', `40${'61'.repeat(64)}00`, `0161c00c`]) {
      assert.equal(questionEnd(question(name), at), undefined, name);
    }
  }
});

test('a question that a client wrote is sent as it is', () => {
  const bytes = hex('0341626300 00ff 0001');
  const query = encodeQuery({ bytes }, { id: 7, edns: false });
  assert.deepEqual(query, hex('0007 0100 0001 0000 0000 0000 0341626300 00ff 0001'));
});

test('the id of a message is its first two bytes', () => {
  assert.equal(messageId(QUERY), 0x1234);
  assert.equal(messageId(Buffer.of(1)), undefined);
});
